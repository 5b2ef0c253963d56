/** Keys that a program can guess. Source: docs/keys.md, Keys of the environment. */

/** Fewest characters of a key that other machines may present. */
export const MIN_KEY_CHARS = 16

/** True when one of the configured keys has fewer characters. */
export const hasShortKey = ({ sessionApiKeys }: { sessionApiKeys: readonly string[] }): boolean =>
  sessionApiKeys.some((key) => key.length < MIN_KEY_CHARS)
