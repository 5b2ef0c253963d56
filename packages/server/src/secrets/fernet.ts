/**
 * Fernet tokens, the format in which existing clients receive encrypted values and send them back: version byte 0x80, time,
 * initial vector, AES-128-CBC, HMAC-SHA256, all in url-safe base64. Source: agent-server-wire.md 8.1, 8.2; the Fernet spec.
 */
import { createCipheriv, createDecipheriv, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

const VERSION = 0x80
const HEAD_BYTES = 1 + 8
const IV_BYTES = 16
const TAG_BYTES = 32

export interface Fernet {
  encrypt(text: string): string
  /** Null when the token was made with another key or changed. Tokens do not expire. */
  decrypt(token: string): string | null
}

/** True for a text with the prefix that every token of this century has. */
export const isFernetToken = (text: string): boolean => text.startsWith('gAAAAA')

/** `key` has 32 bytes: 16 to sign, 16 to encrypt. Only tests pass `now` (ms) and `iv`. */
export function makeFernet(key: Uint8Array, fixed: { now?: () => number; iv?: () => Uint8Array } = {}): Fernet {
  if (key.length !== 32) throw new Error(`a Fernet key has 32 bytes, not ${key.length}`)
  const { now = Date.now, iv: makeIv = () => randomBytes(IV_BYTES) } = fixed
  const signingKey = key.subarray(0, 16)
  const cipherKey = key.subarray(16)
  const sign = (data: Uint8Array) => createHmac('sha256', signingKey).update(data).digest()

  return {
    encrypt: (text) => {
      const head = Buffer.alloc(HEAD_BYTES)
      head.writeUInt8(VERSION)
      head.writeBigUInt64BE(BigInt(Math.floor(now() / 1000)), 1)
      const iv = makeIv()
      const cipher = createCipheriv('aes-128-cbc', cipherKey, iv)
      const signed = Buffer.concat([head, iv, cipher.update(text, 'utf8'), cipher.final()])
      return padded(Buffer.concat([signed, sign(signed)]).toString('base64url'))
    },
    decrypt: (token) => {
      if (!/^[A-Za-z0-9_-]+={0,2}$/.test(token)) return null
      const data = Buffer.from(token, 'base64url')
      if (data.length < HEAD_BYTES + IV_BYTES + 16 + TAG_BYTES || data[0] !== VERSION) return null
      const signed = data.subarray(0, -TAG_BYTES)
      if (!timingSafeEqual(sign(signed), data.subarray(-TAG_BYTES))) return null
      const body = signed.subarray(HEAD_BYTES + IV_BYTES)
      if (body.length % 16 !== 0) return null
      const decipher = createDecipheriv('aes-128-cbc', cipherKey, signed.subarray(HEAD_BYTES, HEAD_BYTES + IV_BYTES))
      return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8')
    },
  }
}

const padded = (text: string): string => text.padEnd(Math.ceil(text.length / 4) * 4, '=')
