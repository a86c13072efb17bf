"""What plugins may bring beside tools and channels, as the rooms below ask for it."""

from colleague.agent.models.provided import ModelProvider as ModelProvider
from colleague.agent.speech.speech_provider import SpeechProvider as SpeechProvider
from colleague.agent.web.search_provider import SearchProvider as SearchProvider
