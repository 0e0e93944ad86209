"""What OpenTelemetry is told of calls, where that is switched on."""
