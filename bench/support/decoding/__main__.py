from touchline.media.child.zygote import serve

TASKS = {"decode": "decoding.work:decode", "walls": "touchline.media.child.isolation:check_isolation"}

if __name__ == "__main__":
    serve(TASKS)
