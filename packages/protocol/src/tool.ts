/**
 * Tools as records: those of an agent, and those of a client. Source: interface.md, ClientToolSpec;
 * agent-server-wire.md 5.5, 5.6.
 */
import { z } from 'zod'
import { laxBoolean, laxInt } from './lax.ts'
import { nonBlank, valueError } from './lax-text.ts'
import { map } from './lists.ts'

export const ToolAnnotations = z.object({
  title: z.string().nullable().default(null),
  readOnlyHint: laxBoolean().default(false),
  destructiveHint: laxBoolean().default(true),
  idempotentHint: laxBoolean().default(false),
  openWorldHint: laxBoolean().default(true),
})
export type ToolAnnotations = z.infer<typeof ToolAnnotations>

const JsonObject = map(z.unknown())

export const Tool = z.object({
  name: nonBlank(),
  params: JsonObject.nullable()
    .default({})
    .transform((params) => params ?? {}),
})
/** One entry of `agent.tools`: a registered name and its parameters. */
export type Tool = z.infer<typeof Tool>
export type ToolInput = z.input<typeof Tool>

/** Two weeks. */
const MAX_RESULT_TIMEOUT_SECONDS = 1_209_600

const isObjectSchema = (schema: Record<string, unknown>) => schema['type'] === 'object'

export const ClientToolSpec = z.object({
  name: z.string(),
  description: z.string(),
  /** A JSON Schema of type `object`. */
  parameters: JsonObject.refine(
    isObjectSchema,
    valueError("Client tool parameters must be a JSON Schema with type 'object'"),
  ).default(() => ({ type: 'object', properties: {} })),
  annotations: ToolAnnotations.nullable().default(null),
  /**
   * A call waits until the client posts its result; otherwise it is acknowledged at once. Parley's own; see
   * docs/client-tools.md.
   */
  awaits_result: laxBoolean().optional(),
  /** Seconds to wait for a result; default: one hour. */
  result_timeout: laxInt({ ge: 1, le: MAX_RESULT_TIMEOUT_SECONDS }).optional(),
})
/** A tool that runs outside the service. */
export type ClientToolSpec = z.infer<typeof ClientToolSpec>
export type ClientToolSpecInput = z.input<typeof ClientToolSpec>
