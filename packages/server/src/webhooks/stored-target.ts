/** A target as a row of the store: its secrets are sealed. */
import type { NewTarget, StoredTarget } from '../storage/index.ts'
import type { WebhookTarget } from './target.ts'

type Secrets = [secret: string | null, apiKey: string | null, headers: Readonly<Record<string, string>>]

/** @param seal cipher text of a text */
export function storedTarget(
  { base_url, events, waiting, secret, api_key, headers, ...options }: WebhookTarget,
  origin: NewTarget['origin'],
  seal: (text: string) => string,
): NewTarget {
  const secrets: Secrets = [secret, api_key, headers]
  return {
    name: base_url,
    events,
    waiting,
    options: JSON.stringify(options),
    sealed: seal(JSON.stringify(secrets)),
    origin,
  }
}

/** @throws ParleyError of `open` when the row was sealed with another key. */
export function readTarget(
  { name, events, waiting = false, options, sealed }: StoredTarget,
  open: (sealed: string) => string,
): WebhookTarget {
  const [secret, api_key, headers] = JSON.parse(open(sealed)) as Secrets
  const rest = JSON.parse(options) as Omit<
    WebhookTarget,
    'base_url' | 'events' | 'waiting' | 'secret' | 'api_key' | 'headers'
  >
  return { ...rest, base_url: name, events, waiting, secret, api_key, headers }
}
