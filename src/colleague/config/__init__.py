"""The settings of a home: colleague.json laid over openclaw.json, typed."""

from colleague.config.file import SettingsWarning
from colleague.config.load import KnownSetting, default_settings_text, known_settings, load_settings
from colleague.config.secret import Secret, resolve
from colleague.config.settings import Settings

__all__ = [
    "KnownSetting",
    "Secret",
    "Settings",
    "SettingsWarning",
    "default_settings_text",
    "known_settings",
    "load_settings",
    "resolve",
]
