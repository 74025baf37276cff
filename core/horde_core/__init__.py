"""The pure half: OpenAI requests to Horde jobs, Horde states to replies and SSE events.

Nothing in this package waits, reads a clock, draws a random number, logs, or opens anything.
Time, ids and chance come in as arguments; what goes out is a frozen value or bytes.
"""
