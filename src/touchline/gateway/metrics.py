"""Metrics of the gateway. Labels are bounded: routes as they are declared, never as they were requested."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

HTTP_REQUESTS = Counter("touchline_http_requests", "Requests that the gateway answered.", ["method", "route", "status"])
HTTP_SECONDS = Histogram("touchline_http_request_seconds", "The time until a response started.", ["route"])
SIGN_INS = Counter("touchline_sign_ins", "Attempts to sign in.", ["method", "outcome"])
AUTHENTICATIONS = Counter("touchline_authentications", "Tokens that were sent with requests.", ["kind", "outcome"])
LIVE_CONNECTIONS = Gauge("touchline_live_connections", "Live connections that clients hold open.")
LIVE_CLOSINGS = Counter("touchline_live_closings", "Live connections that the gateway closed.", ["reason"])
