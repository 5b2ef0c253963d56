import type { Config } from './config.ts'

/**
 * Secrets of a configuration.
 * @param secretsIn finds the secret values of one webhook target
 */
export function secretsOf(
  { sessionApiKeys, secretKey, llm, vendor, automation, webhooks }: Config,
  secretsIn: (target: object) => readonly string[],
): (string | null)[] {
  const keys = [secretKey, llm.apiKey, vendor.apiKey, automation?.apiKey ?? null]
  return [...sessionApiKeys, ...keys, ...webhooks.flatMap((target) => secretsIn(target))]
}
