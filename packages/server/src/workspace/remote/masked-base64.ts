/** Base64 from an agent server that masks its own keys, also where they are encoded. Pure. */
import { MASK } from '../../secrets/index.ts'

/**
 * Decodes a padded text in which masks may stand for characters. A mask becomes a mask in the decoded bytes; the bytes between two
 * masks are left out, because nothing shows where their groups of four characters begin. The byte beside a mask can be missing, where the mask covers a part of it.
 */
export function fromMaskedBase64(text: string): Buffer {
  const [head = '', ...rest] = text.trim().split(MASK)
  const tail = rest.at(-1)
  if (tail === undefined) return Buffer.from(head, 'base64')
  // The end of the text is the end of a group. Characters before it complete the first one; the bytes that they add are removed.
  const missing = (4 - (tail.length % 4)) % 4
  const after = Buffer.from('A'.repeat(missing) + tail, 'base64').subarray(missing)
  return Buffer.concat([Buffer.from(head, 'base64'), Buffer.from(MASK), after])
}
