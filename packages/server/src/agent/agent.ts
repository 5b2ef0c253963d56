/** Who drafts: the native loop or an external agent. An agent owns no storage; `yield` returns after the commit. */
import type {
  ActionEvent,
  Agent as AgentConfig,
  ConversationId,
  ConversationState,
  Draft,
  StoredEvent,
  TreeEvent,
} from '@parley/protocol'
import type { LlmDelta } from '../llm/index.ts'

/** What an agent may see of its conversation during one step. */
export type Turn = {
  conversationId: ConversationId
  /** What providers keep the beginnings of requests under; absent: the conversation's own id. */
  cacheKey?: string
  /** The fold as of the last commit. */
  state: () => ConversationState
  /** The active branch as the model is to see it: condensed, every call paired with its answer or still open. Root first. */
  view: () => readonly TreeEvent[]
  /** Whether somebody asked for a shorter view and none has come yet. */
  isCondensationRequested: () => boolean
  /** Sends a live piece to whoever watches; never stored. */
  emit: (delta: LlmDelta) => void
}

/**
 * Drafts of one step. Each yielded batch is one commit; the value of `yield` is what was stored, ids and all.
 * Whoever drives it throws the abort reason into it, or stops calling it, when the run is interrupted.
 */
export type Step = AsyncGenerator<readonly Draft[], void, readonly StoredEvent[]>

/** An answer that is not part of the conversation. */
export type Asked = {
  /** Empty when the model said nothing. */
  text: string
  /** What it cost, to be stored. */
  drafts: readonly Draft[]
}

export interface Agent extends AsyncDisposable {
  /**
   * Gets what the preamble lists and others have to be asked for, such as tools of MCP servers: bounded in time, and at once when
   * it is there. Resolves also when the signal aborts or something cannot be had; steps go on with it. Absent: there is nothing.
   */
  prepare?(signal: AbortSignal): Promise<void>
  /**
   * Drafts that must stand first in the log: the SystemPromptEvent, once per branch root.
   * Called before the first message of a branch is stored. Must not start anything slow.
   */
  preamble(): readonly Draft[]
  /** Asks the model once and drafts what it wants: actions (judged, with a confirmation request where the policy asks) or a message. */
  think(turn: Turn, signal: AbortSignal): Step
  /** Performs open actions, at most `tool_concurrency_limit` at once; observations in call order, each as soon as the earlier ones are stored. */
  execute(actions: readonly ActionEvent[], turn: Turn, signal: AbortSignal): Step
  /** Decides about actions a dead process left open: adopts, performs for the first time, or closes as unknown. */
  recover(actions: readonly ActionEvent[], turn: Turn, signal: AbortSignal): Step
  /**
   * Makes the view shorter now; open actions stay open. Drafts nothing when there is nothing to forget.
   * Only for agents whose configuration has a condenser for it (`canCondense`). @throws LlmError
   */
  condense(turn: Turn, signal: AbortSignal): Step
  /** Answers a question beside the conversation: performs nothing, changes nothing, also while a step goes on. @throws LlmError */
  ask(question: string, turn: Turn, signal: AbortSignal): Promise<Asked>
  /**
   * Takes another configuration, which differs in its models alone, from the next step on; a question that is being asked goes on
   * as it began.
   */
  reconfigure(config: AgentConfig): void
  /**
   * Ctrl-C to what runs in the foreground; called on interrupt, beside the abort. What it resolves to is stored with the
   * interruption.
   */
  interrupt(): Promise<readonly Draft[] | void>
  /** Whether it has work open that would be lost if it were let go while a person decides. Absent: never. */
  isHolding?(): boolean
  /** A person said something that is to be answered now, while a step goes on. Absent: the next step sees it. */
  heard?(): void
  /**
   * Gives the agent another model, where it chooses its own; the result makes the drafts that tell of it.
   * Absent: `reconfigure` does it. @throws ParleyError
   */
  switchModel?(model: string): Promise<(state: ConversationState) => readonly Draft[]>
}
