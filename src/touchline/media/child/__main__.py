from .zygote import serve

TASKS = {
    "probe": "touchline.media.child.probe:probe",
    "hls": "touchline.media.child.hls:package",
    "poster": "touchline.media.child.poster:make_poster",
    "walls": "touchline.media.child.walls:try_walls",
}

if __name__ == "__main__":
    serve(TASKS)
