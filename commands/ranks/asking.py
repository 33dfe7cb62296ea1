"""Other machines are asked, all at once, whether ranks can be started on them."""

from __future__ import annotations

import contextlib
import secrets
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from ...shared.errors import OperantError, UsageError
from ...shared.harmless import one_line
from ...trainer.run.signals import exit_by_sigterm
from .messages import task
from .nodes import LOOPBACK, Node, own_addresses
from .question import Question

if TYPE_CHECKING:
    from ...trainer.config.train_config import TrainConfig

LOOK_AGAIN_S = 0.1
MOST_GPUS = 64


class MeetingPlace(NamedTuple):
    """The address of this machine that all `nodes` reach, and how many GPUs each of them has."""

    address: str
    nodes: list[Node]
    num_gpus: list[int]


def meeting_place(
    nodes: Sequence[Node],
    config: TrainConfig,
    listener: socket.socket,
    environ: Mapping[str, str],
    leave_out: Callable[[Node, OperantError], None] | None = None,
) -> MeetingPlace:
    """Where `nodes` reach `listener`: at $MASTER_ADDR where that is set. Raises OperantErrors for
    the first that is not ready for a rank, UsageErrors where the user's input is what is wrong;
    `leave_out` takes those that are not ready, and the others meet.
    """
    from ...trainer.ranks.versions import versions

    own, port = versions(), listener.getsockname()[1]
    chosen = environ.get("MASTER_ADDR", "")
    addresses = [chosen] if chosen else [*own_addresses(), LOOPBACK]
    asked = task("ask", versions=own, config=config.model_dump(mode="json"),
                 addresses=addresses, port=port)  # fmt: skip
    with word_told(listener) as word, _interruptible():
        answers = answers_of(nodes, asked)
    found: list[tuple[Node, list[str], int]] = []
    for node, answer in zip(nodes, answers, strict=True):
        try:
            if isinstance(answer, OperantError):
                raise answer
            check_answer(node, answer, own)
            heard = _table(answer, "heard")
            reached = [each for each in heard if heard[each] == word and chosen in ("", each)]
            if not reached:
                raise OperantError(
                    f"{node.name} cannot reach this machine at {', '.join(addresses[:4])} port "
                    f"{port}: is there a firewall? MASTER_ADDR and MASTER_PORT name another "
                    "address and port"
                )
            found.append((node, reached, num_gpus_of(answer)))
        except OperantError as error:
            if leave_out is None:
                raise
            leave_out(node, error)
    ready = [node for node, _, _ in found]
    return MeetingPlace(_common([each for _, each, _ in found], ready), ready,
                        [count for _, _, count in found])  # fmt: skip


def _common(reached: Sequence[list[str]], nodes: Sequence[Node]) -> str:
    """The first address that all reach. Raises OperantError where there is none."""
    for address in reached[0] if reached else [LOOPBACK]:
        if all(address in each for each in reached):
            return address
    raise OperantError(
        f"no address of this machine is one that {', '.join(node.name for node in nodes)} all "
        "reach; MASTER_ADDR names one"
    )


def answers_of(nodes: Sequence[Node], asked: bytes) -> list[dict[str, Any] | OperantError]:
    """What each says, or why it says nothing."""
    questions: list[Question] = []
    with ThreadPoolExecutor(len(nodes)) as pool:
        try:
            questions.extend(Question(node) for node in nodes)
            answers = [pool.submit(_answer, question, asked) for question in questions]
            return [answer.result() for answer in answers]
        finally:  # before the pool waits for its threads, who wait for these
            for question in questions:
                question.end()


def _answer(question: Question, asked: bytes) -> dict[str, Any] | OperantError:
    try:
        return question.answer(asked)
    except OperantError as error:
        return error


def check_answer(node: Node, answer: Mapping[str, Any], own: Mapping[str, str]) -> None:
    """Raises UsageErrors where the other machine has other versions, or lacks something."""
    found = _table(answer, "versions")
    for name, version in own.items():
        if found.get(name) != version:
            has = one_line(str(found.get(name, "None")), 40)
            raise UsageError(
                f"{node.name} has {f'no {name}' if has == 'None' else f'{name} {has}'}, and this "
                f"machine has {version}; all need the same"
            )
    if answer.get("lacks"):
        raise UsageError(f"{node.name}: {one_line(str(answer['lacks']), 600)}")


def num_gpus_of(answer: Mapping[str, Any]) -> int:
    """0 where it says nothing that can be true."""
    said = answer.get("num_gpus")
    return said if type(said) is int and 0 <= said <= MOST_GPUS else 0


def _table(answer: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = answer.get(name)
    return found if isinstance(found, dict) else {}


@contextlib.contextmanager
def word_told(listener: socket.socket) -> Iterator[str]:
    """Meanwhile whoever connects to `listener` is told this word, and so knows whom it reaches."""
    word = secrets.token_hex(8)
    is_over = threading.Event()

    def tell() -> None:
        while not is_over.is_set():
            with contextlib.suppress(OSError):
                connection, _ = listener.accept()
                with connection:
                    connection.settimeout(LOOK_AGAIN_S)
                    connection.sendall(word.encode())

    listener.settimeout(LOOK_AGAIN_S)
    thread = threading.Thread(target=tell, name="word", daemon=True)
    thread.start()
    try:
        yield word
    finally:
        is_over.set()
        thread.join()
        listener.settimeout(None)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C and SIGTERM end what is inside at once: there is no run yet that would stop in good
    order. Where a thread asks beside a run there is one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with exit_by_sigterm():
            yield
    finally:
        signal.signal(signal.SIGINT, former)
