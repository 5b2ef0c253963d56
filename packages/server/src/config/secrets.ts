import type { Config } from './config.ts'

/** The address of the database, and its password as it is written in the address and as the database reads it. */
function databaseSecrets(databaseUrl: string | null): string[] {
  if (databaseUrl === null) return []
  const { password, searchParams } = new URL(databaseUrl)
  const passwords = [password, searchParams.get('password') ?? ''].filter((text) => text !== '')
  return [databaseUrl, ...passwords, ...passwords.map(decodeURIComponent)]
}

const serviceKeysOf = ({ llm, vendor, automation }: Config): string[] =>
  [llm.apiKey, vendor.apiKey, automation?.apiKey ?? null].filter((key) => key !== null)

/**
 * Secrets of a configuration.
 * @param secretsIn finds the secret values of one webhook target
 */
export function secretsOf(config: Config, secretsIn: (target: object) => readonly string[]): (string | null)[] {
  const { databaseUrl, databaseSessionUrl, sessionApiKeys, secretKey, webhooks, webhookReceiverSecrets } = config
  const ofWebhooks = [...webhookReceiverSecrets, ...webhooks.flatMap((target) => secretsIn(target))]
  const ofDatabase = [databaseUrl, databaseSessionUrl].flatMap(databaseSecrets)
  return [...ofDatabase, ...sessionApiKeys, secretKey, ...serviceKeysOf(config), ...ofWebhooks]
}
