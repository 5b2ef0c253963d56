/**
 * Joins hooks to conversations: they run in the workspace, and get none of the credentials that the agent's commands get.
 * Those that ask a model are answered by the one that the conversation has at that moment.
 */
import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import { textContent, userMessage, type Draft, type HookConfig, type LLM } from '@parley/protocol'
import { askHookHelper, expectHookTools, type HookHelperDeps } from '../agent/index.ts'
import { remoteOf, type Heart, type HeartDeps, type OpenHooks } from '../conversation/index.ts'
import { bucketOf, loadProjectHooks, openHooks, type AskModel } from '../hooks/index.ts'
import type { OpenLlm } from '../llm/index.ts'
import type { Hosts, Workspace, Workspaces } from '../workspace/index.ts'

type Mask = HeartDeps['mask']

export type HookingDeps = Pick<HookHelperDeps, 'locks' | 'log'> & {
  workspaces: Workspaces
  /** Patterns of projects whose own hooks count. */
  trusted: readonly string[]
  /** Models as this user's conversations get them. */
  openLlmOf: (owner: string) => OpenLlm
  mask: Mask
  /** A folder of a conversation outside its workspace. */
  dataDirOf: (id: string) => string
}

const loadFullMatch = async () => (await import('../security/index.ts')).fullMatch

export function openHooking(deps: HookingDeps): OpenHooks {
  const { workspaces, trusted, log } = deps
  return async (starting, signal) => {
    const { id, record, epoch } = starting
    const { working_dir } = record.workspace
    const remote = remoteOf(record.workspace)
    const workspace = await workspaces.open({ conversationId: id, workingDir: working_dir, epoch, remote }, signal)
    const askModel = asking(deps, starting, workspace)
    const hooks = openHooks({ conversationId: id, workspace, loadFullMatch, askModel, log })
    const slug = record.repository?.slug ?? null
    return {
      ...hooks,
      project: (asked) =>
        loadProjectHooks(
          workspace,
          { directory: '.', names: slug === null ? [] : [slug] },
          trusted,
          asked,
          expectHookTools,
        ),
      async [Symbol.asyncDispose]() {
        await hooks[Symbol.asyncDispose]()
        await workspace[Symbol.asyncDispose]()
      },
    }
  }
}

/** Each hook has a bucket of its own for what it costs, and is shown secrets no more than the agent's model is. */
function asking(
  { openLlmOf, mask, locks, log, dataDirOf }: HookingDeps,
  { id, owner, current }: Parameters<OpenHooks>[0],
  workspace: Workspace,
): AskModel {
  return (hook, question, spent, signal) => {
    const config: LLM = { ...current().agent.llm, stream: false, usage_id: bucketOf(hook) }
    const helper: HookHelperDeps = {
      conversationId: id,
      llm: openLlmOf(owner)(config),
      workspace,
      dataDir: dataDirOf(id),
      locks,
      log,
      mask: async (text) => textIn(await mask([userMessage([textContent(text)])], owner, current())),
      spent,
    }
    return askHookHelper(hook, question, helper, signal)
  }
}

/** Drafts are what is masked; a text is masked as the message that it could be. */
function textIn([draft]: readonly Draft[]): string {
  const part = draft?.kind === 'MessageEvent' ? draft.llm_message.content[0] : undefined
  if (part?.type !== 'text') throw new Error('a masked message has lost its text')
  return part.text
}

/** The same heart, which makes no conversation with hooks that name tools they cannot have. @throws ParleyError `invalid_input`. */
export function overHooks(heart: Heart): Heart {
  return {
    ...heart,
    async start(request, actor) {
      expectHookTools(request.hook_config)
      return heart.start(request, actor)
    },
  }
}

/** The hooks of a directory of this machine, known by its real path: a link never makes it another, trusted one. */
export function openHooksOf({
  hosts,
  trusted,
  log,
}: Pick<HookingDeps, 'trusted'> & { hosts: Hosts; log: { info(fields: object, message: string): void } }) {
  return async (user: string, directory: string, signal: AbortSignal): Promise<HookConfig | null> => {
    const host = await hosts.of(user)
    const path = await realpath(resolve(host.workingDir, directory)).catch(() => null)
    if (path === null) return null
    const project = { directory: path, names: [path] }
    const { config, detail } = await loadProjectHooks(host, project, trusted, signal, expectHookTools)
    if (detail !== null) log.info({ directory: path }, detail)
    return config
  }
}
