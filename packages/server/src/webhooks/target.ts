/** Where webhooks go, as configured. Source: agent-server-wire.md 7; design.md 4, "Where webhooks go". */
export type WebhookTarget = {
  /** Without a trailing slash; what the target is known by across restarts. */
  base_url: string
  /** Sent with every delivery. */
  headers: Readonly<Record<string, string>>
  /** Signs deliveries: `whsec_` and the key in base64; null: not signed. */
  secret: string | null
  /** Sent as `X-Session-API-Key`; null: none. */
  api_key: string | null
  /** Whether events are sent too, in batches. */
  events: boolean
  /** A batch is sent when this many events wait, and holds no more. */
  event_buffer_size: number
  /** Seconds after which fewer are sent. */
  flush_delay: number
  /** Bytes of events in a batch; a single larger event travels alone. */
  max_batch_bytes: number
  /** Seconds before the first repetition of a delivery; each further wait is about twice as long. */
  retry_delay: number
}
