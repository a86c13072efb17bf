"""What people see and set of the auth profiles: their order, their cooldowns, their statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from colleague.agent.models.keyring import all_profiles, named_profile, profiles_of
from colleague.agent.models.profile_report import ProfileDocument, profile_documents
from colleague.config import Settings
from colleague.store.auth_profiles import clear_cooldowns, forget_profile, read_book, set_order
from colleague.store.tx import Database, Tx


@dataclass(frozen=True)
class AuthProfileControl:
    """The profiles as this process has them: its settings, its environment, its database."""

    settings: Settings
    environ: Mapping[str, str]
    database: Database

    async def documents(self, agent: str) -> list[ProfileDocument]:
        self.settings.for_agent(agent)
        book = await self.database.read(lambda tx: read_book(tx, agent_id=agent))
        return profile_documents(self.settings, self.environ, book, agent=agent)

    async def set_order(self, agent: str, provider: str, profiles: Sequence[str]) -> None:
        self.settings.for_agent(agent)
        found = profiles_of(self.settings, self.environ, provider, agent=agent)
        names = [named_profile(found, each).name for each in dict.fromkeys(profiles)]
        await self.database.write(lambda tx: set_order(tx, agent, provider, names))

    async def clear_cooldowns(self, profiles: Sequence[str]) -> list[str]:
        self._check_names(profiles)

        def work(tx: Tx) -> list[str]:
            known = sorted({each.profile for each in read_book(tx).stats})
            return clear_cooldowns(tx, profiles or known)

        return await self.database.write(work)

    async def forget(self, profile: str) -> None:
        await self.database.write(lambda tx: forget_profile(tx, profile))

    def _check_names(self, names: Sequence[str]) -> None:
        """Models without a key rest under their own name, so that is taken as well."""
        found = all_profiles(self.settings, self.environ)
        for name in names:
            if "/" not in name:
                named_profile(found, name)
