/** The phases that bring a repository into the workspace of a conversation. Source: conversation-service.md 1.6. */
import { join } from 'node:path'
import { AgentContext } from '@parley/protocol'
import {
  clone,
  CLONE_DEPTH,
  findRemote,
  inspectRemote,
  setUpRepository,
  takeBranch,
  type GitHost,
  type GitHosts,
  type GitToken,
  type Identity,
  type WorkspaceRemoval,
  type Workspaces,
} from '../../../workspace/index.ts'
import {
  workspaceSpec,
  type ConversationRecord,
  type OwnedConversation,
  type RepositoryChoice,
} from '../../record/record.ts'
import { isOwedWorktree, takeWorktree } from './worktree.ts'
import { DEFAULT_DEADLINES, START_TIMEOUT, type Phase, type PhaseDeadlines } from './phase.ts'

/** Longest wait for a host's first response; shorter where the whole phase has less. */
const LOOK_MS = 60_000
/** Longest wait for an unreachable agent server; at most half of the phase, so that the start reports the reason. */
const REMOTE_WAIT_MS = 10_000
const GIT_TIMEOUT = 'GIT$TIMEOUT'
const DEFAULT_IDENTITY: Identity = { name: 'Parley', email: 'noreply@parley.invalid' }

export type StartSources = {
  workspaces: Workspaces
  /** Creates working directories, and records those that may be removed. */
  made: Pick<WorkspaceRemoval, 'make' | 'record'>
  /** How commands on this machine are isolated, in words. */
  isolation?: string
  hosts: GitHosts
  /** Patterns of repositories whose set-up scripts may run. */
  trusted: readonly string[]
  deadlines?: Partial<PhaseDeadlines>
  /** Returns the token that a user has stored for a provider; null when there is none. */
  providerToken: (user: string, host: GitHost) => Promise<GitToken | null>
  /** Returns the committer of a user's agents; unset members are left out. */
  gitIdentity: (user: string) => Promise<Partial<Identity>>
}

/** All phases before the agent, in order. */
export function startPhases(sources: StartSources): Phase[] {
  const deadlines = { ...DEFAULT_DEADLINES, ...sources.deadlines }
  const limits = (name: keyof PhaseDeadlines, timeoutCode: string) => ({
    name,
    deadlineMs: deadlines[name],
    timeoutCode,
  })
  const open = (conversation: OwnedConversation, signal: AbortSignal) =>
    sources.workspaces.open(workspaceSpec(conversation), signal)
  return [
    {
      ...limits('workspace', START_TIMEOUT),
      subject: () => 'Making the working directory',
      applies: () => true,
      run: async (starting, signal) => {
        const { owner, record } = starting
        if (isOwedWorktree(record)) return takeWorktree(starting, sources.workspaces, sources.made, signal)
        if (record.workspace.kind === 'RemoteWorkspace') {
          await using workspace = await open(starting, signal)
          await workspace.prepare?.(signal, Math.min(REMOTE_WAIT_MS, deadlines.workspace / 2))
          return { detail: `on the agent server at ${new URL(record.workspace.host).origin}` }
        }
        await sources.made.make(record.workspace.working_dir, owner)
        return { detail: sources.isolation ?? null }
      },
    },
    {
      ...limits('repository', GIT_TIMEOUT),
      subject: ({ repository }) => `Cloning ${repository?.name}`,
      applies: ({ repository }) => isAsked(repository) && repository.slug === null,
      run: async (starting, signal) => {
        await using workspace = await open(starting, signal)
        const { owner, record } = starting
        const choice = record.repository!
        const tokenOf = (host: GitHost) => sources.providerToken(owner, host)
        const remote = await findRemote(choice, { hosts: sources.hosts, tokenOf })
        const lookMs = Math.min(LOOK_MS, deadlines.repository)
        const { url, defaultBranch } = await inspectRemote(workspace, remote, choice.branch, lookMs, signal)
        const identity = { ...DEFAULT_IDENTITY, ...(await sources.gitIdentity(owner)) }
        await clone(workspace, remote, { url, branch: choice.branch, identity }, signal)
        const working_dir = join(record.workspace.working_dir, remote.directory)
        const what = `${remote.slug} at ${choice.branch ?? defaultBranch ?? 'its default branch'}`
        return {
          detail: `cloned ${what}, the newest ${CLONE_DEPTH} commits; "git fetch --unshallow" brings the rest`,
          change: {
            workspace: { ...record.workspace, working_dir },
            repository: { ...choice, slug: remote.slug, token_variable: remote.agentLogin?.variable ?? null },
          },
        }
      },
    },
    {
      ...limits('branch', GIT_TIMEOUT),
      subject: ({ repository }) => `Checking out ${repository?.branch ?? 'a fresh branch'} of ${repository?.name}`,
      applies: ({ repository }) => isAsked(repository) && repository.checked_out === null,
      run: async (starting, signal) => {
        await using workspace = await open(starting, signal)
        const { id, record } = starting
        const choice = record.repository!
        const name = choice.branch ?? `parley/${id.slice(0, 8)}`
        await takeBranch(workspace, '.', { name, isFresh: choice.branch === null }, signal)
        const repository = { ...choice, checked_out: name }
        return { detail: `on branch ${name}`, change: { repository, agent: withDirectory(record, repository) } }
      },
    },
    {
      ...limits('setup', 'SETUP$TIMEOUT'),
      subject: ({ repository }) => `The set-up script of ${repository?.name}`,
      applies: ({ repository }) => isAsked(repository) && !repository.is_set_up,
      run: async (starting, signal) => {
        await using workspace = await open(starting, signal)
        const choice = starting.record.repository!
        const source = { directory: '.', slug: choice.slug ?? '', trusted: sources.trusted }
        const detail = await setUpRepository(workspace, source, signal)
        return { detail, change: { repository: { ...choice, is_set_up: true } } }
      },
    },
  ]
}

const isAsked = (repository: RepositoryChoice | null | undefined): repository is RepositoryChoice =>
  repository !== null && repository !== undefined

/** The agent of the record, with its working directory in the prompt. */
function withDirectory(
  { agent, workspace }: ConversationRecord,
  repository: RepositoryChoice,
): ConversationRecord['agent'] {
  const { slug, checked_out, branch, token_variable } = repository
  const lines = [
    '<repository>',
    `${slug} is cloned to ${workspace.working_dir}, your working directory, and the branch ${checked_out} is checked out${branch === null ? '; it was made for this conversation' : ''}.`,
    `The clone holds the newest ${CLONE_DEPTH} commits of one branch. "git fetch --unshallow" brings the history; "git remote set-branches origin '*' && git fetch" the other branches.`,
  ]
  if (token_variable !== null) {
    lines.push(
      `It keeps no credential. A git command that talks to the host has to name the variable ${token_variable}, which the clone's credential helper reads: ${token_variable}="$${token_variable}" git push -u origin HEAD`,
    )
  }
  lines.push('</repository>')
  const context = agent.agent_context ?? AgentContext.parse({})
  const before = agent.agent_context?.system_message_suffix
  const system_message_suffix = [...(before ? [before] : []), lines.join('\n')].join('\n\n')
  return { ...agent, agent_context: { ...context, system_message_suffix } }
}
