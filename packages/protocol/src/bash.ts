/** Commands outside a conversation, and their output. Source: agent-server-wire.md 1.7. */
import { z } from 'zod'
import { laxInt } from './lax.ts'

export const ExecuteBashRequest = z.object({
  /** A line for `/bin/sh -c`. */
  command: z.string(),
  /** Null: the directory in which the server was started. */
  cwd: z.string().nullable().default(null),
  /** Seconds. */
  timeout: laxInt({ ge: 1 }).default(300),
})
export type ExecuteBashRequest = z.infer<typeof ExecuteBashRequest>

/** 32 hex digits, no dashes. */
const id = z.string()
/** UTC, with `Z`. */
const timestamp = z.string()

export const BashCommand = ExecuteBashRequest.extend({
  id,
  timestamp,
  kind: z.literal('BashCommand'),
  // Older versions also stored timeouts that no command can have.
  timeout: laxInt().default(300),
})
export type BashCommand = z.infer<typeof BashCommand>

export const BashOutput = z.object({
  id,
  timestamp,
  command_id: z.string(),
  /** 0, 1, 2 … of one command. */
  order: z.int(),
  /** Null except in the last output of a command; there is exactly one such output. */
  exit_code: z.int().nullable(),
  stdout: z.string().nullable(),
  stderr: z.string().nullable(),
  kind: z.literal('BashOutput'),
})
export type BashOutput = z.infer<typeof BashOutput>

export const BashError = z.object({ id, timestamp, code: z.string(), detail: z.string(), kind: z.literal('BashError') })
/** Sent over the socket of the client concerned, never stored. */
export type BashError = z.infer<typeof BashError>

export const BashEvent = z.discriminatedUnion('kind', [BashCommand, BashOutput])
export type BashEvent = z.infer<typeof BashEvent>
