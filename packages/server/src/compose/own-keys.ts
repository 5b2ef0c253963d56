/** Refuses a configuration that sends a key of this server to another one, which could then use it here. Source: docs/webhooks.md, Sending webhooks. */
import { ConfigError, type Config } from '../config/index.ts'
import { hashKey } from '../secrets/index.ts'
import type { Identities } from '../settings/index.ts'

/** @throws ConfigError naming the setting. Revoked and expired keys are no keys of this server any more. */
export async function expectNoOwnKeys(
  { webhooks, automation }: Pick<Config, 'webhooks' | 'automation'>,
  identities: Pick<Identities, 'byHash'>,
): Promise<void> {
  const isOwn = async (text: string) => (await identities.byHash(hashKey(text))) !== null
  for (const [index, { base_url, api_key, headers }] of webhooks.entries()) {
    const sent = [
      ['api_key', api_key ?? ''],
      ['base_url', [...new URL(base_url).searchParams.values()].join(' ')],
      ...Object.entries(headers).map(([name, value]) => [`headers.${name}`, value]),
    ] as [string, string][]
    for (const [member, text] of sent)
      for (const part of partsOf(text)) if (await isOwn(part)) throw refusal(`webhooks[${index}].${member}`)
  }
  const key = automation?.apiKey ?? null
  if (key !== null && (await isOwn(key))) throw refusal('automation_callback_api_key')
}

/** A header may have a scheme or a name before the key. */
const partsOf = (text: string): string[] => [text, ...text.split(/[\s,;=]+/)].filter((part) => part !== '')

const refusal = (setting: string): ConfigError =>
  new ConfigError(
    `${setting} contains a key of this server, and its receiver could use this server with it; remove it, or name a key of the receiver ` +
      '(on another Parley: parley keys create --role webhook)',
  )
