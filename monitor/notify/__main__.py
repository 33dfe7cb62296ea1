"""`python -m operant.monitor.notify RUN_FOLDER`: tells the messages on standard input, for
`background.py`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ...shared.runs.run_folder import Run
from ..recorder.events_file import EventsFile
from ..recorder.news import problem_line
from .message import Message
from .settings import OwnSettings
from .teller import Teller

PATIENCE_S = 60.0


def main() -> None:
    run = Run(Path(sys.argv[1]))
    messages = [Message(**fields) for fields in json.load(sys.stdin)]
    teller = Teller(run, OwnSettings())
    for message in messages:
        teller.tell(message)
    teller.close(PATIENCE_S)
    EventsFile(run.events_path).append(map(problem_line, teller.take_notes()))


if __name__ == "__main__":
    main()
