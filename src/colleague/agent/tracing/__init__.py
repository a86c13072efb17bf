"""Seeing inside: what models are sent and say, what agents do, in files and as OpenTelemetry spans."""
