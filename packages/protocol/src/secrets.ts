/** Secrets as records. Source: interface.md, SecretRegistry, Custom secret records; agent-server-wire.md 5.12. */
import { z } from 'zod'
import { isRecord } from './is-record.ts'
import { secretText, text, valueError } from './lax-text.ts'
import { kindUnion, textOr } from './unions.ts'
import { LIST_LIMITS, map } from './lists.ts'

export const StaticSecret = z.object({
  kind: z.literal('StaticSecret').default('StaticSecret'),
  value: secretText(),
  description: z.string().nullable().default(null),
})
export type StaticSecret = z.infer<typeof StaticSecret>

export const LookupSecret = z.object({
  kind: z.literal('LookupSecret').default('LookupSecret'),
  /** Requested with GET when the value is needed; the text of the response is the value. */
  url: z.string(),
  headers: map(z.string()).default({}),
  description: z.string().nullable().default(null),
})
export type LookupSecret = z.infer<typeof LookupSecret>

export const SecretSource = kindUnion('SecretSource', { LookupSecret, StaticSecret }, (source) =>
  'url' in source ? 'LookupSecret' : 'StaticSecret',
)
export type SecretSource = z.infer<typeof SecretSource>

export const SecretRegistry = z.object({ secret_sources: map(SecretSource, { max: LIST_LIMITS.recorded }).default({}) })
export type SecretRegistry = z.infer<typeof SecretRegistry>

/** Names with a meaning in a command's environment: a secret under one of them would change how every command runs. */
const RESERVED = new Set([
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'PWD',
  'OLDPWD',
  'TERM',
  'LANG',
  'TZ',
  'TMPDIR',
  'IFS',
  'ENV',
  'BASH_ENV',
  'SHELLOPTS',
  'BASHOPTS',
  'PROMPT_COMMAND',
  'PS1',
  'PS2',
  'PS4',
  'AI_AGENT',
  'NODE_OPTIONS',
])
const RESERVED_PREFIX = /^(?:LD_|DYLD_|LC_|BASH_FUNC_|PARLEY_|OH_SESSION_API_KEYS)/

/** True when the name has a meaning for the system, the shell or this server. */
export const isReservedSecretName = (name: string): boolean => RESERVED.has(name) || RESERVED_PREFIX.test(name)

/** A legal name of a custom secret. Source: decisions.md, Custom secrets; conversation-service.md 4.1. */
export const SecretName = text({ min: 1, max: 255, pattern: /^[A-Za-z_][A-Za-z0-9_]*$/ }).refine(
  (name) => !isReservedSecretName(name),
  valueError('this name belongs to the system or the server; choose another one'),
)

/** Secrets of a conversation in a request, by name; plain text is a static secret. */
export const RequestedSecrets = map(textOr(SecretSource))
export type RequestedSecrets = z.infer<typeof RequestedSecrets>

/** Longest value of a secret, in bytes of UTF-8. */
export const MAX_SECRET_BYTES = 64 * 1024

/** Any text that a process can have in its environment, including the empty one. */
export const SecretValue = z
  .string()
  .refine((value) => !value.includes('\0'), valueError('a secret cannot hold the character NUL'))
  .refine(
    (value) => new TextEncoder().encode(value).length <= MAX_SECRET_BYTES,
    valueError(`a secret has at most ${MAX_SECRET_BYTES} bytes`),
  )

export const CreateSecretRequest = z.object({
  name: SecretName,
  description: z.string().nullable().default(null),
  value: SecretValue,
})
export type CreateSecretRequest = z.infer<typeof CreateSecretRequest>

const SecretUpdate = z.strictObject({
  name: SecretName,
  description: z.string().nullable().default(null),
})
/** Unknown members are ignored, but a value is refused: it would be lost. */
export const UpdateSecretRequest = z.preprocess((value) => {
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).filter(([name]) => name === 'value' || Object.hasOwn(SecretUpdate.shape, name)),
  )
}, SecretUpdate) as unknown as typeof SecretUpdate
export type UpdateSecretRequest = z.infer<typeof UpdateSecretRequest>

/** A secret in the agent-server API. The rule for its name is checked separately: the refusal is one sentence. */
export const PutSecretRequest = z.object({
  name: z.string(),
  value: SecretValue,
  /** Absent: the stored description is kept. */
  description: z.string().nullable().optional(),
})
export type PutSecretRequest = z.infer<typeof PutSecretRequest>

export const SecretItem = z.object({ name: z.string(), description: z.string().nullable() })
/** A secret in lists. */
export type SecretItem = z.infer<typeof SecretItem>
