from .zygote import serve

TASKS = {
    "probe": "touchline.media.child.probe:probe",
    "hls": "touchline.media.child.hls:package",
    "survey": "touchline.media.child.survey:survey",
    "poster": "touchline.media.child.poster:make_poster",
    "storyboard": "touchline.media.child.storyboard:make_storyboard",
    "sample": "touchline.media.child.sampling:sample",
    "clip": "touchline.media.child.clip:cut",
    "live": "touchline.media.child.live:read_live",
    "pixels": "touchline.media.child.pixels:decode_pixels",
    "isolation": "touchline.media.child.isolation:check_isolation",
}

if __name__ == "__main__":
    serve(TASKS)
