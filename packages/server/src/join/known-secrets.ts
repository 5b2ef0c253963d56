/**
 * What this process knows as secret, kept from its log. Errors repeat what they were given (`"…" is an invalid header
 * value`), and nobody can tell that from their class; but every stored secret comes through the cipher, and that can be watched.
 */
import type { Config } from '../config/index.ts'
import { makeMasker, secretValues, type Cipher, type Masker } from '../secrets/index.ts'

/** Newest ones that are remembered, and the longest of them, in characters. */
const MOST = 1000
const LONGEST = 16_384

export type KnownSecrets = {
  /** The same cipher; what it seals and opens is known from then on. */
  watch: (cipher: Cipher) => Cipher
  /** A copy of plain data without any of them. */
  hide: <T>(value: T) => T
}

/** @param own secrets that no cipher sees, such as those of the configuration. */
export function openKnownSecrets(own: Iterable<string | null>): KnownSecrets {
  const values = new Set([...own].filter((value) => value !== null))
  let masker: Masker | null = null

  function remember(text: string): string {
    // Messages that wait for a start are sealed too; they are no secrets that turn up in errors.
    if (text.length > LONGEST || text.startsWith('[')) return text
    // Those in use are the last to be forgotten.
    if (!values.delete(text)) masker = null
    values.add(text)
    const [oldest] = values
    if (values.size > MOST && oldest !== undefined) values.delete(oldest)
    return text
  }
  return {
    watch: (cipher) => ({
      ...cipher,
      seal: (text) => cipher.seal(remember(text)),
      open: (sealed) => remember(cipher.open(sealed)),
    }),
    // Made when something is to be hidden, which is seldom, and not with each new value.
    hide: (value) => (masker ??= makeMasker(values)).json(value),
  }
}

/** What a configuration holds of secrets. */
export function secretsOf({ sessionApiKeys, secretKey, llm, vendor, automation, webhooks }: Config): (string | null)[] {
  const keys = [secretKey, llm.apiKey, vendor.apiKey, automation?.apiKey ?? null]
  return [...sessionApiKeys, ...keys, ...webhooks.flatMap((target) => secretValues(target))]
}
