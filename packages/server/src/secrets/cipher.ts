/** Encryption of stored secrets: AES-256-GCM, a random nonce per text, and a key id that distinguishes a wrong key from damage. */
import { ParleyError } from '@parley/protocol'
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import { type Fernet, makeFernet } from './fernet.ts'
import { readOrMakeKeyFile } from './key-file.ts'

/** Sealed text is `v1:<key id>:<nonce, cipher text and tag in base64url>`. */
const VERSION = 'v1'
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Beginning of every sealed text. */
export const SEALED_PREFIX = `${VERSION}:`
/** Finds sealed texts in any text. */
export const SEALED_ANYWHERE = /v1:[0-9a-f]{8}:[A-Za-z0-9_-]{38,}/g
const SEALED = /^v1:([0-9a-f]{8}):([A-Za-z0-9_-]+)$/

export interface Cipher {
  /** Id of the key, which reveals nothing about it. */
  readonly keyId: string
  /** Tokens for values that clients receive encrypted and send back. Source: agent-server-wire.md 8.1, 8.2. */
  readonly fernet: Fernet
  seal(text: string): string
  /** @throws ParleyError `unavailable` when the key is another one or the text was changed. */
  open(sealed: string): string
  /** The reference to the model key of the server for that key, and any other text unchanged. See `server-credential.ts`. */
  referenced(text: string): string
}

export type CipherOptions = {
  /** The configured secret key, any text. Without it the key is read from `keyFile`, which is created when missing. */
  keyText?: string
  keyFile: string
  /** False: a missing key file is refused. Default true. */
  mayCreate?: boolean
}

/** True for a text in the format of `seal`. */
export const isSealed = (text: string): boolean => SEALED.test(text)

/**
 * Opens the cipher of a data directory.
 * @throws ParleyError `unavailable` when the configured key is blank or the key file cannot be used.
 */
export async function openCipher({ keyText, keyFile, mayCreate = true }: CipherOptions): Promise<Cipher> {
  if (keyText?.trim() === '') {
    throw new ParleyError('unavailable', 'the configured secret key is blank: give it a text, or leave it out')
  }
  if (keyText !== undefined) return makeCipher(digest(keyText), 'the configured secret key')
  return makeCipher(digest(await readOrMakeKeyFile(keyFile, mayCreate)), `the key file ${keyFile}`)
}

const digest = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest()

/** @param origin source of the key, for messages */
export function makeCipher(secret: Uint8Array, origin: string): Cipher {
  // Fernet tokens, whose format is fixed, use the same secret; a derived key separates the two uses.
  const derive = (use: string, bytes: number) => Buffer.from(hkdfSync('sha256', secret, '', `parley ${use}`, bytes))
  const key = derive('sealed text v1', 32)
  const keyId = derive('key id', 4).toString('hex')
  const header = Buffer.from(`${VERSION}:${keyId}`)

  const cannotOpen = (why: string, cause?: unknown) =>
    new ParleyError(
      'unavailable',
      `a stored secret cannot be opened with ${origin}: ${why}. ` +
        'Start with the secret key it was sealed with (PARLEY_SECRET_KEY, or the key file of this data directory from a backup), ' +
        'or store the secret again.',
      { details: { key_id: keyId }, cause },
    )

  return {
    keyId,
    fernet: makeFernet(secret),
    referenced: (text) => text,
    seal: (text) => {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(header)
      const body = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return `${VERSION}:${keyId}:${body.toString('base64url')}`
    },
    open: (sealed) => {
      const parts = SEALED.exec(sealed)
      if (parts === null) throw cannotOpen('it is not a sealed text of a known version')
      const [, sealedWith = '', encoded = ''] = parts
      if (sealedWith !== keyId) throw cannotOpen(`it was sealed with another key (${sealedWith}, this one is ${keyId})`)
      const body = Buffer.from(encoded, 'base64url')
      if (body.length < NONCE_BYTES + TAG_BYTES) throw cannotOpen('it is cut off')
      const decipher = createDecipheriv('aes-256-gcm', key, body.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
      decipher.setAAD(header).setAuthTag(body.subarray(-TAG_BYTES))
      try {
        const text = [decipher.update(body.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]
        return Buffer.concat(text).toString('utf8')
      } catch (error) {
        throw cannotOpen('it was changed after it was sealed', error)
      }
    },
  }
}
