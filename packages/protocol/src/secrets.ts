/** Secrets as records. Source: seed: SecretRegistry, Custom secret records; agent-server-wire.md 5.12. */
import { z } from 'zod'
import { secretText, text, valueError } from './lax-text.ts'
import { kindUnion, textOr } from './unions.ts'

export const StaticSecret = z.object({
  kind: z.literal('StaticSecret').default('StaticSecret'),
  value: secretText(),
  description: z.string().nullable().default(null),
})
export type StaticSecret = z.infer<typeof StaticSecret>

export const LookupSecret = z.object({
  kind: z.literal('LookupSecret').default('LookupSecret'),
  /** Asked with GET when the value is needed; the answer's text is the value. */
  url: z.string(),
  headers: z.record(z.string(), z.string()).default({}),
  description: z.string().nullable().default(null),
})
export type LookupSecret = z.infer<typeof LookupSecret>

export const SecretSource = kindUnion('SecretSource', { LookupSecret, StaticSecret }, (source) =>
  'url' in source ? 'LookupSecret' : 'StaticSecret',
)
export type SecretSource = z.infer<typeof SecretSource>

export const SecretRegistry = z.object({ secret_sources: z.record(z.string(), SecretSource).default({}) })
export type SecretRegistry = z.infer<typeof SecretRegistry>

/** Names that a command's environment is built with: a secret under one of them would change how every command runs. */
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

/** Whether the system, the shell or this server gives the name a meaning of its own. */
export const isReservedSecretName = (name: string): boolean => RESERVED.has(name) || RESERVED_PREFIX.test(name)

/** A legal name of a custom secret. Source: design.md 4; conversation-service.md 4.1. */
export const SecretName = text({ min: 1, max: 255, pattern: /^[A-Za-z_][A-Za-z0-9_]*$/ }).refine(
  (name) => !isReservedSecretName(name),
  valueError('this name belongs to the system or the server; choose another one'),
)

/** Secrets that a request gives to a conversation, by name; plain text is a static one. */
export const RequestedSecrets = z.record(z.string(), textOr(SecretSource))
export type RequestedSecrets = z.infer<typeof RequestedSecrets>

/** Longest value of a secret, in bytes of UTF-8. */
export const MAX_SECRET_BYTES = 64 * 1024

/** Any text that a process can have in its environment, the empty one included. */
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

export const UpdateSecretRequest = z.strictObject({
  name: SecretName,
  description: z.string().nullable().default(null),
})
/** The value cannot be sent: any other member is refused. */
export type UpdateSecretRequest = z.infer<typeof UpdateSecretRequest>

/** What the agent-server face stores. Its rule for names is checked apart: a refusal there is one sentence. */
export const PutSecretRequest = z.object({
  name: z.string(),
  value: SecretValue,
  /** Absent: an earlier one stays. */
  description: z.string().nullable().optional(),
})
export type PutSecretRequest = z.infer<typeof PutSecretRequest>

export const SecretItem = z.object({ name: z.string(), description: z.string().nullable() })
/** A secret as lists show it. */
export type SecretItem = z.infer<typeof SecretItem>
