"""Other machines are asked, all at once, whether ranks can be started on them."""

from __future__ import annotations

import contextlib
import secrets
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from ...monitor.remote.error_tail import ErrorTail
from ...shared.errors import OperantError, UsageError
from ...shared.harmless import one_line
from ...shared.ssh import SHELL_NOT_FOUND, SSH_NOT_REACHED
from ...trainer.run.signals import exit_by_sigterm
from .messages import MAX_BYTES, answer_in, task
from .nodes import Node, own_addresses
from .reaching import kill_with_children, rank_command

if TYPE_CHECKING:
    from ...trainer.config.train_config import TrainConfig

ANSWER_WITHIN_S = 90.0  # of a cold disk
END_WITHIN_S = 2.0
LOOK_AGAIN_S = 0.1
LOOPBACK = "127.0.0.1"


def address_for_all(
    nodes: Sequence[Node],
    config: TrainConfig,
    listener: socket.socket,
    environ: Mapping[str, str],
) -> str:
    """The address of this machine at which all `nodes` reach `listener`; $MASTER_ADDR where that is
    set. Raises OperantErrors for the first that is not ready for a rank, UsageErrors where the
    user's input is what is wrong.
    """
    from ...trainer.ranks.versions import versions

    own, port = versions(), listener.getsockname()[1]
    chosen = environ.get("MASTER_ADDR", "")
    addresses = [chosen] if chosen else [*own_addresses(), LOOPBACK]
    asked = task("ask", versions=own, config=config.model_dump(mode="json"),
                 addresses=addresses, port=port)  # fmt: skip
    with word_told(listener) as word, _interruptible():
        answers = answers_of(nodes, asked)
    reached = []
    for node, answer in zip(nodes, answers, strict=True):
        _check(node, answer, own)
        heard = _table(answer, "heard")
        reached.append([address for address in heard if heard[address] == word])
        if not set(reached[-1]) & ({chosen} if chosen else set(heard)):
            raise OperantError(
                f"{node.name} cannot reach this machine at {', '.join(addresses[:4])} port {port}: "
                "is there a firewall? MASTER_ADDR and MASTER_PORT name another address and port"
            )
    for address in [chosen] if chosen else reached[0]:
        if all(address in each for each in reached):
            return address
    raise OperantError(
        f"no address of this machine is one that {', '.join(node.name for node in nodes)} all "
        "reach; MASTER_ADDR names one"
    )


def answers_of(nodes: Sequence[Node], asked: bytes) -> list[dict[str, Any]]:
    """What each says. Raises what the first of `nodes` that says nothing deserves."""
    questions: list[_Question] = []
    with ThreadPoolExecutor(len(nodes)) as pool:
        try:
            questions.extend(_Question(node) for node in nodes)
            answers = [pool.submit(question.answer, asked) for question in questions]
            return [answer.result() for answer in answers]
        finally:  # before the pool waits for its threads, who wait for these
            for question in questions:
                question.end()


class _Question:
    """One machine that is asked; `end` ends it from any thread."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._is_over = False
        try:
            self._process = subprocess.Popen(
                rank_command(node),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise UsageError(f"cannot run ssh: {error.strerror}") from None

    def answer(self, asked: bytes) -> dict[str, Any]:
        process = self._process
        assert process.stdin
        assert process.stdout
        assert process.stderr
        errors = ErrorTail(process.stderr)
        late = threading.Timer(ANSWER_WITHIN_S, self.end)
        late.start()
        try:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(asked)
                process.stdin.flush()
            num_bytes = 0
            while num_bytes < MAX_BYTES and (line := process.stdout.readline(MAX_BYTES)):
                num_bytes += len(line)
                answer = answer_in(line)
                if answer is not None:
                    return answer
            raise self._why_not(errors)
        finally:
            late.cancel()
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(BrokenPipeError):  # of what it has not read
                    pipe.close()

    def _why_not(self, errors: ErrorTail) -> OperantError:
        """From the exit code of ssh or of the other operant, and the last line of its errors."""
        name = self._node.name
        if self._is_over:
            return OperantError(f"{name} has not answered within {ANSWER_WITHIN_S:.0f} s")
        try:
            exit_code = self._process.wait(END_WITHIN_S)
        except subprocess.TimeoutExpired:
            return OperantError(f"{name} says what is no answer of operant's")
        said = errors.last_line(END_WITHIN_S).removeprefix("operant: ")
        if exit_code == SSH_NOT_REACHED:
            return OperantError(
                f"cannot reach {name}: {said or 'ssh failed'}; `ssh {self._node.host}` must get in "
                "without asking anything"
            )
        if exit_code == SHELL_NOT_FOUND:
            return UsageError(
                f"{name} has no operant where its shell looks ({said}); write "
                f"{name}=COMMAND, or set OPERANT_REMOTE, to the command that starts it there"
            )
        if "no such command" in said.lower():
            return UsageError(f"{name} has an operant of another version, which knows no ranks")
        return OperantError(f"{name}: {said or f'operant there ended with exit code {exit_code}'}")

    def end(self) -> None:
        self._is_over = True
        kill_with_children(self._process)


def _check(node: Node, answer: Mapping[str, Any], own: Mapping[str, str]) -> None:
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
    order.
    """
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with exit_by_sigterm():
            yield
    finally:
        signal.signal(signal.SIGINT, former)
