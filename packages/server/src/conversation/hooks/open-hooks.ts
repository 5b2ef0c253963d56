/**
 * Hooks of conversations. They run in the workspace and get none of the credentials that the agent's commands get. Hooks that
 * ask a model are answered by the conversation's model of that moment.
 */
import { textContent, userMessage, type Draft, type HookConfig, type LLM } from '@parley/protocol'
import { askHookHelper, expectHookTools, type HookHelperDeps } from '../../agent/index.ts'
import { bucketOf, loadProjectHooks, openHooks, type AskModel } from '../../hooks/index.ts'
import type { OpenLlm } from '../../llm/index.ts'
import type { Log } from '../../observability/index.ts'
import type { Hosts, Workspace, Workspaces } from '../../workspace/index.ts'
import type { ModelUser } from '../live-access.ts'
import type { OpenHooks } from './conversation-hooks.ts'
import { workspaceSpec, type MaskDrafts } from '../record/record.ts'

export type ConversationHooksDeps = Pick<HookHelperDeps, 'locks' | 'confirm' | 'log'> & {
  workspaces: Pick<Workspaces, 'open'>
  /** Patterns of projects whose own hooks count. */
  trusted: readonly string[]
  /** Models as a conversation gets them. */
  openLlmOf: (user: ModelUser) => OpenLlm
  /** Rejects when the user can pay for no further answer of a model. */
  expectMoney: (user: string) => Promise<void>
  mask: MaskDrafts
  /** Folder of a conversation outside its workspace. */
  dataDirOf: (id: string) => string
}

const loadFullMatch = async () => (await import('../../security/index.ts')).fullMatch

export function openConversationHooks(deps: ConversationHooksDeps): OpenHooks {
  const { workspaces, trusted, confirm, log } = deps
  return async (starting, signal) => {
    const { id, record } = starting
    const workspace = await workspaces.open(workspaceSpec(starting), signal)
    const askModel = asking(deps, starting, workspace)
    const hooks = openHooks({ conversationId: id, workspace, confirm, loadFullMatch, askModel, log })
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

/** The cost of each hook is counted separately, and secrets are hidden from it as they are from the agent's model. */
function asking(
  { openLlmOf, expectMoney, mask, locks, confirm, log, dataDirOf }: ConversationHooksDeps,
  starting: Parameters<OpenHooks>[0],
  workspace: Workspace,
): AskModel {
  const { id, owner, current } = starting
  return async (hook, question, spent, signal) => {
    await expectMoney(owner)
    const config: LLM = { ...current().agent.llm, stream: false, usage_id: bucketOf(hook) }
    const helper: HookHelperDeps = {
      conversationId: id,
      llm: openLlmOf(starting)(config),
      workspace,
      dataDir: dataDirOf(id),
      locks,
      confirm,
      log,
      mask: async (text) => textIn(await mask([userMessage([textContent(text)])], owner, current())),
      spent,
    }
    return askHookHelper(hook, question, helper, signal)
  }
}

/** `mask` takes drafts, so a text is masked as the content of a message. */
function textIn([draft]: readonly Draft[]): string {
  const part = draft?.kind === 'MessageEvent' ? draft.llm_message.content[0] : undefined
  if (part?.type !== 'text') throw new Error('a masked message has lost its text')
  return part.text
}

/** Hooks of a directory of this machine. Trust depends on its real path, so that a link cannot make it a trusted one. */
export function openHooksOf({
  hosts,
  trusted,
  log,
}: Pick<ConversationHooksDeps, 'trusted'> & { hosts: Hosts; log: Pick<Log, 'info'> }) {
  return async (user: string, directory: string, signal: AbortSignal): Promise<HookConfig | null> => {
    const host = await hosts.of(user)
    const path = await hosts.roots(user).directory(directory, ['project_dir'], host.workingDir)
    const project = { directory: path, names: [path] }
    const { config, detail } = await loadProjectHooks(host, project, trusted, signal, expectHookTools)
    if (detail !== null) log.info({ directory: path }, detail)
    return config
  }
}
