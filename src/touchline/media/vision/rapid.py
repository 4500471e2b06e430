"""RapidOCR, with the models of its own package.

Invariant: the paths of the models are given, so the library has nothing to look for and nothing to download.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import rapidocr
from rapidocr import RapidOCR

from .areas import Area, Pixels
from .memory import ReadWords

MODELS = Path(rapidocr.__file__).parent / "models"
NARROWEST_LINE = 96  # of 48 pixels height; its own 320 would make a clock cost as much as a sentence


class RapidReader:
    language: str | None = None  # its one model reads many
    short_side = 736  # what its detector is made for

    def __init__(self, threads: int) -> None:
        logging.getLogger("RapidOCR").setLevel(logging.ERROR)
        self._engine: Any = RapidOCR(params=_parameters(threads))
        blank = np.zeros((48, 96, 3), np.uint8)
        self.detect(blank)  # it loads a model when that is first used: now, while files can be read
        self.recognise([blank])

    def detect(self, picture: Pixels) -> list[Area]:
        found: Any = self._engine(np.ascontiguousarray(picture), use_det=True, use_cls=False, use_rec=False)
        boxes: Any = getattr(found, "boxes", None)
        return [] if boxes is None else [_upright(box) for box in boxes]

    def recognise(self, lines: Sequence[Pixels]) -> list[ReadWords]:
        read: Any = self._engine.recognize_txt([np.ascontiguousarray(line) for line in lines])
        return [ReadWords(str(text).strip(), float(score)) for text, score in zip(read.txts, read.scores, strict=True)]


def _upright(box: Pixels) -> Area:
    x, y = int(box[:, 0].min()), int(box[:, 1].min())
    return Area(x, y, int(box[:, 0].max()) - x + 1, int(box[:, 1].max()) - y + 1)


def _parameters(threads: int) -> dict[str, Any]:
    return {
        "Global.log_level": "error",
        "Global.use_preprocess_img": False,  # sizes are the caller's business
        "Global.use_vertical_padding": False,
        "EngineConfig.onnxruntime.intra_op_num_threads": threads,
        "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        "Det.model_path": str(_model("det")),
        "Det.limit_side_len": 32,
        "Rec.model_path": str(_model("rec")),
        "Rec.rec_img_shape": [3, 48, NARROWEST_LINE],
    }


def _model(kind: str) -> Path:
    return next(path for path in sorted(MODELS.glob("*.onnx")) if f"_{kind}_" in path.name)
