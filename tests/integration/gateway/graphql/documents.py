"""What clients send."""

from __future__ import annotations

FIELDS = """
fragment Fields on Vod {
  id artifactHash playbackId title titleRevision fileName createdAt expiresAt status progressPercent sizeBytes
  durationMs width height posterUrl errorCode errorMessage storageLocation isFrozen revision lifecycleKnown
}
"""
LIST = f"""
query ($page: PageInput) {{
  vodsConnection(page: $page) {{
    totalCount
    pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }}
    edges {{ cursor node {{ ...Fields }} }}
  }}
}}
{FIELDS}
"""
TITLES = """
query ($page: PageInput) {
  vodsConnection(page: $page) {
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    edges { node { title } }
  }
}
"""
VOD = f"query ($hash: String!) {{ vod(artifactHash: $hash) {{ ...Fields }} }} {FIELDS}"
ERRORS = " ".join(
    f"... on {name} {{ code message hint }}"
    for name in ("NotFoundError", "AuthError", "ConflictError", "UnavailableError")
)
VALIDATION = "... on ValidationError { code message field hint }"
LIMIT = "... on RateLimitError { code message hint retryAfterSeconds }"
CREATE = f"""
mutation ($input: CreateVodUploadInput!) {{ createVodUpload(input: $input) {{ __typename
  ... on UploadTicket {{
    vod {{ artifactHash playbackId title }} partSizeBytes partCount parts {{ number url sizeBytes }}
  }}
  ... on AuthError {{ code message hint }} ... on ConflictError {{ code message hint }}
  ... on UnavailableError {{ code message hint }} {VALIDATION} {LIMIT} }} }}
"""
PARTS = f"""
mutation ($hash: String!, $numbers: [Int!]!) {{ uploadParts(artifactHash: $hash, numbers: $numbers) {{ __typename
  ... on UploadParts {{ parts {{ number url sizeBytes }} }} {ERRORS} {VALIDATION} }} }}
"""
COMPLETE = f"""
mutation ($hash: String!, $checksums: [String!]) {{ completeVodUpload(artifactHash: $hash, checksums: $checksums) {{
  __typename
  ... on VodPayload {{ vod {{ ...Fields }} }} {ERRORS} {VALIDATION} {LIMIT} }} }}
{FIELDS}
"""
ABORT = f"""
mutation ($hash: String!) {{ abortVodUpload(artifactHash: $hash) {{ __typename
  ... on DeletedVod {{ artifactHash }} {ERRORS} }} }}
"""
DELETE = f"""
mutation ($hash: String!) {{ deleteVod(artifactHash: $hash) {{ __typename
  ... on DeletedVod {{ artifactHash }} {ERRORS} }} }}
"""
ARRIVED = "query ($hash: String!) { arrivedParts(artifactHash: $hash) { partSizeBytes partCount arrived checksums } }"
PLAYBACK = f"""
query ($id: String!) {{ playback(playbackId: $id) {{ __typename
  ... on Playback {{ artifactHash playbackId title manifestUrl posterUrl durationMs expiresAt }} {ERRORS} }} }}
"""
