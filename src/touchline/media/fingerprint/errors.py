"""What can be wrong with stored fingerprints, as errors.

InvalidInput
└── InvalidFingerprint      a text or file that is none, or was changed
Conflict
└── IndexBusy               another process writes to the index
SetupError
└── DamagedIndex            the files of an index do not fit together
"""

from __future__ import annotations

from touchline.kernel import Conflict, InvalidInput, SetupError


class InvalidFingerprint(InvalidInput):
    next_step = "Make the fingerprint again from the video: `touchline media fingerprint FILE`."


class IndexBusy(Conflict):
    next_step = "Wait until the other process is done, then try again. The index can be searched in the meantime."


class DamagedIndex(SetupError):
    next_step = "Restore the folder of the index from a backup, or add the videos to a new one."
