/** A configured target of webhooks. Source: agent-server-wire.md 7; decisions.md, Where webhooks go. */
export type WebhookTarget = {
  /** Without a trailing slash; identifies the target across restarts. */
  base_url: string
  /** Sent with every delivery. */
  headers: Readonly<Record<string, string>>
  /** Signing secret: `whsec_` and the key in base64; null: deliveries are not signed. */
  secret: string | null
  /** Sent as `X-Session-API-Key`; null: none. */
  api_key: string | null
  /** True when events are sent in addition to notifications, in batches. */
  events: boolean
  /** True when the target is notified of batches that wait for a decision. */
  waiting: boolean
  /** Size of a full batch, which is sent at once. */
  event_buffer_size: number
  /** Seconds after which an incomplete batch is sent. */
  flush_delay: number
  /** Maximum bytes of events in a batch; a single larger event is a batch of its own. */
  max_batch_bytes: number
  /** Seconds before the first repetition of a delivery; each further wait is about twice as long. */
  retry_delay: number
}
