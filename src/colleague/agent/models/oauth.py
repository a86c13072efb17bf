"""Access tokens that run out, and getting another one with the refresh token.

OpenClaw's file is never written, so what was got is kept in a file of ours, which only its owner can read."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from colleague.agent.models.failure import ModelFailure
from colleague.agent.models.resolved import Key, ResolvedModel, TokenRefresh
from colleague.files import locked, write_atomic

EARLY_MS = 60_000
"""So long before its end a token is replaced."""
_REFRESH_SECONDS = 30.0
_HOUR_SECONDS = 3600


@dataclass(frozen=True)
class TokenKeeper:
    """Keeps the tokens that were got, one file for each refresh token of a profile."""

    folder: Path

    async def fresh(self, model: ResolvedModel) -> ResolvedModel:
        """The model with a token that has not run out. Raises ModelFailure when none can be got."""
        key = model.key
        if key is None or not key.bearer:
            return model
        if key.refresh is not None:
            key = self._kept(key)
        if not _is_over(key):
            return replace(model, key=key)
        if key.refresh is None:
            raise _over(model, "it cannot be renewed from here", key)
        return replace(model, key=await self._renewed(model, key, key.refresh))

    def _kept(self, key: Key) -> Key:
        """What was got last for this profile, where it is newer than what the profile says."""
        try:
            kept = json.loads(self._file(key).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return key
        if key.refresh is None or kept.get("expires_at", 0) <= (key.expires_at or 0):
            return key
        refresh = replace(key.refresh, token=kept["refresh"])
        return replace(key, text=kept["access"], expires_at=kept["expires_at"], refresh=refresh)

    def _file(self, key: Key) -> Path:
        name = hashlib.sha256(key.profile.encode()).hexdigest()[:32]
        return self.folder / f"{name}.json"

    async def _renewed(self, model: ResolvedModel, key: Key, refresh: TokenRefresh) -> Key:
        import httpx2

        try:
            return await asyncio.to_thread(self._renew, key, refresh)
        except (httpx2.HTTPError, OSError, ValueError, KeyError, TypeError) as error:
            raise _over(model, f"{refresh.url} gave no other ({error})", key) from None

    def _renew(self, key: Key, refresh: TokenRefresh) -> Key:
        """One process at a time: a refresh token may count only once."""
        file = self._file(key)
        with locked(file.with_suffix(".lock")):
            kept = self._kept(key)
            if not _is_over(kept):
                return kept
            refresh = kept.refresh or refresh
            answer = _ask(refresh)
            access, lasts = str(answer["access_token"]), float(answer.get("expires_in") or _HOUR_SECONDS)
            expires_at = int((time.time() + lasts) * 1000)
            renewed = replace(refresh, token=str(answer.get("refresh_token") or refresh.token))
            stored = {"access": access, "refresh": renewed.token, "expires_at": expires_at}
            write_atomic(file, json.dumps(stored), mode=0o600)
        return replace(key, text=access, expires_at=expires_at, refresh=renewed)


def _is_over(key: Key) -> bool:
    return key.expires_at is not None and key.expires_at - EARLY_MS <= time.time() * 1000


def _over(model: ResolvedModel, why: str, key: Key) -> ModelFailure:
    return ModelFailure(
        "auth",
        f"{model.name}: the token of {key.profile} has run out, and {why}",
        hint=f"log in again where {key.source} comes from",
    )


def _ask(refresh: TokenRefresh) -> dict[str, Any]:
    """OAuth's own request. A redirect is not followed: the refresh token goes nowhere else."""
    import httpx2

    form = {"grant_type": "refresh_token", "refresh_token": refresh.token}
    if refresh.client_id:
        form["client_id"] = refresh.client_id
    response = httpx2.post(refresh.url, data=form, timeout=_REFRESH_SECONDS)
    if not response.is_success:
        raise ValueError(f"status {response.status_code}")
    answer: dict[str, Any] = response.json()
    return answer
