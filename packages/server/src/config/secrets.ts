import type { Config } from './config.ts'

const serviceKeysOf = ({ llm, vendor, automation }: Config): string[] =>
  [llm.apiKey, vendor.apiKey, automation?.apiKey ?? null].filter((key) => key !== null)

/**
 * Secrets of a configuration.
 * @param secretsIn finds the secret values of one webhook target
 */
export function secretsOf(config: Config, secretsIn: (target: object) => readonly string[]): (string | null)[] {
  const { sessionApiKeys, secretKey, webhooks, webhookReceiverSecrets } = config
  const ofWebhooks = [...webhookReceiverSecrets, ...webhooks.flatMap((target) => secretsIn(target))]
  return [...sessionApiKeys, secretKey, ...serviceKeysOf(config), ...ofWebhooks]
}
