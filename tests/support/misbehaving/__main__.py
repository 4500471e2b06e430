from touchline.media.child.__main__ import TASKS
from touchline.media.child.zygote import serve

MISDEEDS = (
    "hang", "multiply", "burn", "grow", "crash", "leave", "raise_defect", "raise_failure", "babble", "drone", "flood",
    "lie", "overflow", "trespass", "hoard", "look_around", "fork_bomb", "inspect", "toil",
)  # fmt: skip

if __name__ == "__main__":
    serve(TASKS | {name: f"misbehaving.misdeeds:{name}" for name in MISDEEDS})
