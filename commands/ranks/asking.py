"""Ask other machines, all at once, whether ranks can be started on them."""

from __future__ import annotations

import contextlib
import secrets
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from ...monitor.remote.connection import ErrorTail
from ...shared.errors import OperantError, UsageError
from ...shared.processes.ssh import SHELL_NOT_FOUND, SSH_NOT_REACHED
from ...shared.text.harmless import one_line
from ...trainer.running.signals import exit_by_sigterm
from .nodes import LOOPBACK, Node, own_addresses
from .rank_process import MAX_BYTES, answer_in, kill_with_children, rank_command, task

if TYPE_CHECKING:
    from ...trainer.config.train_config import TrainConfig

LOOK_AGAIN_S = 0.1
MAX_GPUS = 64
ANSWER_WITHIN_S = 90.0  # with a cold disk
END_WITHIN_S = 2.0
# Errors of ssh that are not about a question it asks.
NOT_ABOUT_A_QUESTION = ("refused", "resolve", "timed out", "No route", "no route", "unreachable")


class MeetingPlace(NamedTuple):
    """The address of this machine that all others reach, and the number of GPUs of each."""

    address: str
    num_gpus: list[int]


def meeting_place(
    nodes: Sequence[Node],
    config: TrainConfig,
    listener: socket.socket,
    environ: Mapping[str, str],
) -> MeetingPlace:
    """The address at which `nodes` reach `listener`: $MASTER_ADDR if that is set. Raises
    OperantError for the first machine that is not ready, UsageError if the user's input is wrong.
    """
    from ...trainer.distributed.meeting import versions

    local_versions, port = versions(), listener.getsockname()[1]
    chosen = environ.get("MASTER_ADDR", "")
    addresses = [chosen] if chosen else [*own_addresses(), LOOPBACK]
    asked = task("ask", versions=local_versions, config=config.model_dump(mode="json"),
                 addresses=addresses, port=port)  # fmt: skip
    with sending_token(listener) as token, _interruptible():
        answers = answers_of(nodes, asked)
    reached: list[list[str]] = []
    num_gpus: list[int] = []
    for node, answer in zip(nodes, answers, strict=True):
        if isinstance(answer, OperantError):
            raise answer
        check_answer(node, answer, local_versions)
        heard = _table(answer, "heard")
        addresses_here = [
            address for address in heard
            if heard[address] == token and chosen in ("", address)
        ]  # fmt: skip
        if not addresses_here:
            raise OperantError(
                f"{node.name} cannot reach this machine at {', '.join(addresses[:4])} port "
                f"{port}: is there a firewall? MASTER_ADDR and MASTER_PORT name another "
                "address and port"
            )
        reached.append(addresses_here)
        num_gpus.append(num_gpus_of(answer))
    return MeetingPlace(_common(reached, nodes), num_gpus)


def _common(reached: Sequence[list[str]], nodes: Sequence[Node]) -> str:
    """The first address that all reach. Raises OperantError if there is none."""
    for address in reached[0]:
        if all(address in addresses for addresses in reached):
            return address
    raise OperantError(
        f"no address of this machine is one that {', '.join(node.name for node in nodes)} all "
        "reach; MASTER_ADDR names one"
    )


def answers_of(nodes: Sequence[Node], asked: bytes) -> list[dict[str, Any] | OperantError]:
    """The answer of each machine, or the error that prevented it."""
    questions: list[Question] = []
    with ThreadPoolExecutor(len(nodes)) as pool:
        try:
            questions.extend(Question(node) for node in nodes)
            answers = [pool.submit(_answer, question, asked) for question in questions]
            return [answer.result() for answer in answers]
        finally:  # before the pool waits for its threads, which wait for these
            for question in questions:
                question.end()


def _answer(question: Question, asked: bytes) -> dict[str, Any] | OperantError:
    try:
        return question.answer(asked)
    except OperantError as error:
        return error


class Question:
    """Asks one machine; `end` can be called from any thread."""

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
            raise UsageError(f"cannot run {error.filename}: {error.strerror}") from None

    def answer(self, asked: bytes) -> dict[str, Any]:
        """The machine's answer. Raises OperantErrors that say why there is no answer."""
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
                with contextlib.suppress(BrokenPipeError):  # it has not read everything
                    pipe.close()

    def _why_not(self, errors: ErrorTail) -> OperantError:
        """The reason, from the exit code of ssh or of operant there and the last error line."""
        name = self._node.name
        if self._is_over:
            return OperantError(f"{name} has not answered within {ANSWER_WITHIN_S:.0f} s")
        try:
            exit_code = self._process.wait(END_WITHIN_S)
        except subprocess.TimeoutExpired:
            return OperantError(f"{name} sent an answer that operant cannot read")
        said = errors.last_line(END_WITHIN_S).removeprefix("operant: ")
        if exit_code == SSH_NOT_REACHED:
            message = f"cannot reach {name}: {said.rstrip('.') or 'ssh failed'}"
            if not any(word in said for word in NOT_ABOUT_A_QUESTION):
                message += f"; `ssh {self._node.host}` must get in without asking anything"
            return OperantError(message)
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


def check_answer(node: Node, answer: Mapping[str, Any], local_versions: Mapping[str, str]) -> None:
    """Raises UsageError if the other machine has other versions, or something is missing there."""
    versions_there = _table(answer, "versions")
    for name, version in local_versions.items():
        if versions_there.get(name) != version:
            has = one_line(str(versions_there.get(name, "None")), 40)
            raise UsageError(
                f"{node.name} has {f'no {name}' if has == 'None' else f'{name} {has}'}, and this "
                f"machine has {version}; all need the same"
            )
    if answer.get("lacks"):
        raise UsageError(f"{node.name}: {one_line(str(answer['lacks']), 600)}")


def num_gpus_of(answer: Mapping[str, Any]) -> int:
    """The number of GPUs in an answer; 0 if it has no valid number."""
    count = answer.get("num_gpus")
    return count if type(count) is int and 0 <= count <= MAX_GPUS else 0


def _table(answer: Mapping[str, Any], name: str) -> dict[str, Any]:
    table = answer.get(name)
    return table if isinstance(table, dict) else {}


@contextlib.contextmanager
def sending_token(listener: socket.socket) -> Iterator[str]:
    """Send a token to everyone who connects to `listener` while the block runs: whoever receives it
    knows that the connection reaches this process.
    """
    token = secrets.token_hex(8)
    is_over = threading.Event()

    def send() -> None:
        while not is_over.is_set():
            with contextlib.suppress(OSError):
                connection, _ = listener.accept()
                with connection:
                    connection.settimeout(LOOK_AGAIN_S)
                    connection.sendall(token.encode())

    listener.settimeout(LOOK_AGAIN_S)
    thread = threading.Thread(target=send, name="token", daemon=True)
    thread.start()
    try:
        yield token
    finally:
        is_over.set()
        thread.join()
        listener.settimeout(None)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C and SIGTERM end the block at once: no run exists yet that could stop in good order."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with exit_by_sigterm():
            yield
    finally:
        signal.signal(signal.SIGINT, former)
