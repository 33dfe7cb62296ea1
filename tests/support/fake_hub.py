"""A server with the part of the Hugging Face Hub's interface that huggingface_hub asks for."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

SHA = "0" * 40
Files = dict[str, dict[str, bytes]]  # of each repository, by path


class FakeHub(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories: Files = {}
        self.private: set[str] = set()
        self.fetched: list[str] = []  # paths of the files that were sent
        self.listed_sizes: dict[str, int] = {}  # by path, where they are not those of the files

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: FakeHub

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        parts = self._parts()
        if parts == ["api", "repos", "create"]:
            asked = json.loads(body)
            name = "/".join(filter(None, [asked.get("organization") or "me", asked["name"]]))
            self.server.repositories.setdefault(name, {})
            if asked.get("private"):
                self.server.private.add(name)
            self._answer({"url": f"{self.server.url}/{name}", "name": name, "id": name})
        elif parts == ["api", "validate-yaml"]:
            self._answer({"errors": [], "warnings": []})
        elif parts[-2:] == ["preupload", "main"]:
            files = [
                {"path": file["path"], "uploadMode": "regular", "shouldIgnore": False, "oid": None}
                for file in json.loads(body)["files"]
            ]
            self._answer({"files": files})
        elif parts[-2:] == ["commit", "main"]:
            name = "/".join(parts[2:4])
            files = self.server.repositories[name]
            for line in map(json.loads, body.splitlines()):
                value = line["value"]
                if line["key"] == "file":
                    files[value["path"]] = base64.b64decode(value["content"])
                elif line["key"] == "deletedFile":
                    del files[value["path"]]
            url = f"{self.server.url}/{name}/commit/{SHA}"
            self._answer({"commitUrl": url, "commitOid": SHA})
        else:
            self._answer({}, 404)

    def do_GET(self) -> None:
        parts = self._parts()
        is_api = parts[:2] == ["api", "models"]
        name = "/".join(parts[2:4] if is_api else parts[:2])
        files = self.server.repositories.get(name)
        if files is None:
            self._answer({"error": "Repository not found"}, 404, {"X-Error-Code": "RepoNotFound"})
        elif is_api and "tree" in parts:
            listed = self.server.listed_sizes
            self._answer(
                [
                    {"type": "file", "path": path, "size": listed.get(path, len(data)), "oid": SHA}
                    for path, data in files.items()
                ]
            )
        elif is_api:
            siblings = [{"rfilename": path} for path in files]
            is_private = name in self.server.private
            self._answer({"id": name, "sha": SHA, "siblings": siblings, "private": is_private})
        else:
            if self.command != "HEAD":
                self.server.fetched.append("/".join(parts[4:]))
            self._send(200, files["/".join(parts[4:])])

    do_HEAD = do_GET  # noqa: N815

    def _parts(self) -> list[str]:
        return urlsplit(self.path).path.strip("/").split("/")

    def _answer(
        self, value: object, status: int = 200, headers: dict[str, str] | None = None
    ) -> None:
        self._send(status, json.dumps(value).encode(), headers)

    def _send(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        etag = hashlib.sha1(data, usedforsecurity=False).hexdigest()
        sent = {"Content-Length": str(len(data)), "ETag": f'"{etag}"', "X-Repo-Commit": SHA}
        for key, value in {**sent, **(headers or {})}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def fake_hub() -> Iterator[FakeHub]:
    hub = FakeHub()
    thread = threading.Thread(target=hub.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.shutdown()
        hub.server_close()
        thread.join()
