"""A child that the test plays, in the place of the fork server."""

from __future__ import annotations

import json
import os
import signal
import socket


class OneChild:
    """In the place of the fork server: its child is the test."""

    def __init__(self) -> None:
        self.killed: list[int] = []
        self.buried: list[tuple[int, int]] = []
        self.number = 0

    def start(self, messages: socket.socket, results: int) -> int:
        if self.number:
            self.close()
        self.messages = messages.dup()
        self.results = os.dup(results)
        self.number += 1
        return self.number

    def signal(self, number: int, which: signal.Signals) -> None:
        self.killed.append(which)
        self.buried.append((number, -which))

    def ended(self) -> list[tuple[int, int]]:
        ended, self.buried = self.buried, []
        return ended

    def close(self) -> None:
        self.messages.close()
        os.close(self.results)

    def begins(self) -> str:
        """The next run that the child takes."""
        return str(json.loads(self.messages.recv(100_000))[1])

    def answers(self, name: str) -> None:
        os.write(self.results, f'["done","{name}",0.001,null]\n'.encode())


class SeveralChildren:
    """In the place of the fork server: each slot's child is the test."""

    def __init__(self) -> None:
        self.children: list[OneChild] = []

    def start(self, messages: socket.socket, results: int) -> int:
        self.children.append(OneChild())
        self.children[-1].start(messages, results)
        return len(self.children)

    def ended(self) -> list[tuple[int, int]]:
        return []

    def close(self) -> None:
        for child in self.children:
            child.close()
