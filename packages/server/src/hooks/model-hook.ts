/** Hooks that ask a model. Source: agent-core.md 5.3. */
import type { Draft, HookDefinition } from '@parley/protocol'
import { timeoutSignal } from '../lib/index.ts'
import { hookQuestion, type HookQuestion } from './question.ts'
import { verdictOfReply, type ModelReply } from './reply.ts'
import { cut, onErrorOf, secondsOf, type HookInput, type HookResult } from './run-hook.ts'

/**
 * Asks the model that the conversation has now; for a hook of type `agent`, a helper with tools.
 * @param spent receives a record of each answer's cost as soon as it is known, also when the hook fails later
 */
export type AskModel = (
  hook: HookDefinition,
  question: HookQuestion,
  spent: (usage: Draft) => void,
  signal: AbortSignal,
) => Promise<string>

/** Characters of an event that a model is shown; a longer event fails the hook, because its beginning alone could mislead. */
const MAX_EVENT_CHARS = 200_000

/**
 * Asks the model within the hook's timeout. Failures are part of the result; `drafts` record the cost.
 * @throws the signal's reason when aborted
 */
export async function runModelHook(
  hook: HookDefinition,
  input: HookInput,
  ask: AskModel | undefined,
  signal: AbortSignal,
): Promise<{ result: HookResult; drafts: Draft[] }> {
  const drafts: Draft[] = []
  const replied = await reply(hook, input, ask, (usage) => drafts.push(usage), signal)
  const verdict = verdictOfReply(replied, onErrorOf(hook, input))
  const result = {
    ...verdict,
    reason: cutOrNull(verdict.reason),
    additional_context: cutOrNull(verdict.additional_context),
    error: cutOrNull(verdict.error),
    stdout: cut(replied.text),
    stderr: '',
  }
  return { result, drafts }
}

async function reply(
  hook: HookDefinition,
  input: HookInput,
  ask: AskModel | undefined,
  spent: (usage: Draft) => void,
  signal: AbortSignal,
): Promise<ModelReply> {
  const failed = (failure: string): ModelReply => ({ text: '', failure })
  if (ask === undefined) return failed('This server has no model for hooks to ask.')
  const question = hookQuestion(hook, input)
  if (question.user.length > MAX_EVENT_CHARS) {
    return failed(`The event is longer than the ${MAX_EVENT_CHARS} characters that a model is shown.`)
  }
  const seconds = secondsOf(hook)
  const late = timeoutSignal(seconds * 1000)
  try {
    return { text: await ask(hook, question, spent, AbortSignal.any([signal, late])), failure: null }
  } catch (error) {
    signal.throwIfAborted()
    if (late.aborted) return failed(`The hook did not end within ${seconds} s and was stopped.`)
    return failed(`The hook could not be run: ${(error as Error).message}`)
  }
}

const cutOrNull = (text: string | null): string | null => (text === null ? null : cut(text))

/** Name of a hook in records: its command, or its type and name, or the beginning of its prompt. */
export function labelOf({ type, name, command, prompt }: HookDefinition): string {
  if (type === 'command') return command
  return name === null ? (prompt ?? type).slice(0, MAX_LABEL_CHARS) : `${type}-hook:${name}`
}

const MAX_LABEL_CHARS = 20

/** Usage id under which the cost of such a hook is counted. */
export const bucketOf = ({ type, name }: HookDefinition): string => `${type}-hook:${name ?? 'default'}`
