/** Invocation of a skill by name. Source: agent-core.md 6.5; F15. */
import { basename, dirname, isAbsolute } from 'node:path'
import { isInvocable, type Skill } from '@parley/protocol'
import { inlineCommands, relativeInside } from '../lib/index.ts'
import type { Workspace } from '../workspace/index.ts'

const COMMAND_LIMIT_MS = 10_000
const MAX_OUTPUT_BYTES = 50 * 1024
/** Limit on the commands of one skill that are run. */
const MAX_COMMANDS = 20

export type Invocation = { callId: string; workspace: Workspace; signal: AbortSignal }

export type SkillSet = {
  /** Skills in force. */
  skills: readonly Skill[]
  /** True when commands in the text of a skill may be run without approval. */
  isTrusted: (skill: Skill) => boolean
}

/** The text of a skill for the model, or the reason why there is none. @throws the signal's reason when aborted. */
export async function invokeSkill(
  { skills, isTrusted }: SkillSet,
  asked: string,
  call: Invocation,
): Promise<{ text: string; isError: boolean }> {
  const name = asked.trim()
  const skill = skills.find((each) => each.name === name)
  const known = skills.filter(isInvocable).map((each) => each.name)
  if (skill === undefined) return refused(`There is no skill '${name}'. Skills to ask for: ${known.join(', ')}`)
  if (!isInvocable(skill))
    return refused(`The skill '${name}' is not given by name. Skills to ask for: ${known.join(', ')}`)
  const content = await expanded(skill, isTrusted(skill), call)
  return {
    text: [content.trim(), place(skill, call.workspace.workingDir)].filter(Boolean).join('\n\n'),
    isError: false,
  }
}

const refused = (text: string) => ({ text, isError: true })

/** The text with the output of its commands. Commands of an untrusted skill are shown instead of run. */
async function expanded({ content }: Skill, isTrusted: boolean, call: Invocation): Promise<string> {
  const texts: string[] = []
  let count = 0
  for (const piece of inlineCommands(content)) {
    if (piece.kind === 'text') texts.push(piece.text)
    else if (!isTrusted) texts.push(`[Not run, because the skill comes with the project: ${piece.command}]`)
    else if (count === MAX_COMMANDS) texts.push(`[Not run, because the skill has too many commands: ${piece.command}]`)
    else texts.push(await printed(piece.command, count++, call))
  }
  return texts.join('')
}

/** Runs a command in the workspace without secrets. The call id prevents a second run when the call is repeated. */
async function printed(command: string, index: number, { callId, workspace, signal }: Invocation): Promise<string> {
  const request = {
    callId: `${callId}-${index}`,
    argv: ['bash', '-c', command],
    timeoutMs: COMMAND_LIMIT_MS,
    maxBytes: MAX_OUTPUT_BYTES,
  }
  try {
    const { exit_code, stdout, stderr, timedOut, dropped } = await workspace.exec(request, signal)
    if (timedOut) return `[Error: ${command} took longer than ${COMMAND_LIMIT_MS / 1000} s]`
    if (exit_code !== 0) return `[Error: ${command} ended with exit code ${exit_code}: ${stderr.trim().slice(-500)}]`
    return dropped.stdout > 0 ? `${stdout.trim()} [${dropped.stdout} bytes left out]` : stdout.trim()
  } catch (error) {
    signal.throwIfAborted()
    return `[Error: ${command} could not be run: ${(error as Error).message}]`
  }
}

function place({ name, source, resources }: Skill, workingDir: string): string {
  // A client that sends the skill may name its file alone.
  const root = resources?.skill_root ?? (source !== null && isAbsolute(source) ? dirname(source) : null)
  if (root === null || (resources === null && basename(source!) !== 'SKILL.md')) return ''
  const folder = relativeInside(workingDir, root) || root
  const listed =
    resources === null
      ? []
      : (['scripts', 'references', 'assets'] as const).flatMap((kind) =>
          resources[kind].map((file) => `${kind}/${file}`),
        )
  const files = listed.length === 0 ? '' : ` It holds: ${listed.slice(0, 50).join(', ')}.`
  return `[The folder of the skill ${name} is ${folder}.${files}]`
}
