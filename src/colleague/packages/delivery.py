"""Where a result goes, in what form, and how soon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from colleague.duration import Duration
from colleague.main_names import MAIN_CHANNEL
from colleague.packages.fields import Fields
from colleague.suggest import did_you_mean

Format = Literal["narrative", "structured", "both"]
SlaBreach = Literal["warn", "escalate"]

CHANNELS = (MAIN_CHANNEL, "web", "slack", "discord", "telegram")


@dataclass(frozen=True)
class Delivery:
    """Form, channel and time limit of a result."""

    format: Format = "both"
    channel: str = MAIN_CHANNEL
    sla: Duration | None = None
    sla_breach: SlaBreach = "warn"


def read_delivery(fields: Fields, default: Delivery) -> Delivery:
    """The delivery in `fields`, field by field over what is inherited."""
    delivery = Delivery(
        format=cast(Format, fields.choice("format", ("narrative", "structured", "both"), default.format)),
        channel=read_channel(fields, default.channel),
        sla=fields.duration("sla") or default.sla,
        sla_breach=cast(SlaBreach, fields.choice("sla_breach", ("warn", "escalate"), default.sla_breach)),
    )
    fields.finish()
    return delivery


def read_channel(fields: Fields, default: str) -> str:
    channel = fields.text("channel", default)
    if fields.has("channel") and channel not in CHANNELS:
        hint = did_you_mean(channel, CHANNELS) or f"use one of {', '.join(CHANNELS)}"
        fields.findings.add(
            "delivery-channel-unknown", fields.mark("channel"), f"channel {channel[:60]!r} is not known", hint
        )
    return channel
