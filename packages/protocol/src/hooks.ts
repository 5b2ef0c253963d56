/** Configured commands that run at named events. Source: interface.md, HookConfig; agent-server-wire.md 5.10. */
import { z } from 'zod'
import { isRecord } from './is-record.ts'
import { laxBoolean, laxInt } from './lax.ts'
import { valueError } from './lax-text.ts'
import { list } from './lists.ts'

/** Strict, like all of a hook configuration: a hook with a misspelled `on_error` must not count as one that allows. */
const Definition = z
  .strictObject({
    type: z.enum(['command', 'prompt', 'agent']).default('command'),
    name: z.string().nullable().default(null),
    /** Empty for the types `prompt` and `agent`. */
    command: z.string().default(''),
    prompt: z.string().nullable().default(null),
    system_prompt: z.string().nullable().default(null),
    /** Tools that an agent hook may use. */
    tools: list(z.string()).default([]),
    /** Seconds. */
    timeout: laxInt().default(60),
    max_iterations: laxInt().default(3),
    /** The run does not wait for it. */
    async: laxBoolean().default(false),
    /** Decision when the hook itself fails; absent: `deny` before a call of a tool, `allow` at other moments. */
    on_error: z.enum(['allow', 'deny']).optional(),
  })
  .refine(
    (hook) => hook.type !== 'command' || hook.command.trim() !== '',
    valueError("Hook type 'command' requires a command"),
  )
  .refine(
    (hook) => hook.type === 'command' || hook.command === '',
    valueError("Only hook type 'command' may have a command"),
  )
  .refine((hook) => hook.type !== 'prompt' || Boolean(hook.prompt), valueError("Hook type 'prompt' requires a prompt"))
  .refine((hook) => hook.type === 'command' || !hook.async, valueError("Only hook type 'command' can be async"))

type DefinitionInput = z.input<typeof Definition>

/** One client writes `async_` for `async`. */
const withAsync = (value: unknown) => {
  if (!isRecord(value) || !('async_' in value)) return value
  const { async_, ...rest } = value
  return { async: async_, ...rest }
}

export const HookDefinition = z.preprocess(withAsync, Definition) as unknown as z.ZodType<
  z.output<typeof Definition>,
  DefinitionInput
>
export type HookDefinition = z.infer<typeof HookDefinition>

export const HookMatcher = z.strictObject({
  /**
   * `*` or empty: all; between slashes, or with regex characters: a full-match regex; otherwise the exact name of a
   * tool.
   */
  matcher: z.string().default('*'),
  hooks: list(HookDefinition).default([]),
})
export type HookMatcher = z.infer<typeof HookMatcher>

const matchers = () => list(HookMatcher).default([])

const Config = z.strictObject({
  pre_tool_use: matchers(),
  post_tool_use: matchers(),
  user_prompt_submit: matchers(),
  session_start: matchers(),
  session_end: matchers(),
  stop: matchers(),
})

const SNAKE: Readonly<Record<string, string>> = {
  PreToolUse: 'pre_tool_use',
  PostToolUse: 'post_tool_use',
  UserPromptSubmit: 'user_prompt_submit',
  SessionStart: 'session_start',
  SessionEnd: 'session_end',
  Stop: 'stop',
}

const canonical = z.transform((value: unknown, ctx) => {
  if (!isRecord(value)) return value
  const { hooks, ...others } = value
  const entries = Object.entries(isRecord(hooks) ? { ...others, ...hooks } : value)
  const config: Record<string, unknown> = {}
  for (const [name, entry] of entries) {
    const key = Object.hasOwn(SNAKE, name) ? (SNAKE[name] ?? name) : name
    if (Object.hasOwn(config, key)) {
      const { error, params } = valueError(`Duplicate hook event: both spellings of '${key}' are given`)
      ctx.addIssue({ code: 'custom', input: value, message: error, params })
    }
    config[key] = entry
  }
  return config
})

/**
 * Also accepts PascalCase names, and the whole wrapped in `{"hooks": …}`. Unknown names, or one in two spellings, are
 * refused.
 */
export const HookConfig = z.pipe(canonical, Config as never) as unknown as z.ZodType<
  z.output<typeof Config>,
  z.input<typeof Config>
>
export type HookConfig = z.infer<typeof HookConfig>
export type HookConfigInput = z.input<typeof HookConfig>
