/**
 * The first execution of stored calls. What the policy in force, or a message of a person, does not allow any more is asked about
 * instead. Source: agent-core.md 1.10, 1.11.
 *
 * Invariants
 *   E1. A call begins if a person has approved it, or if the policy in force asks about none of the calls before it and not about
 *       it. The decision is made when the call has its locks, which may be long after it was stored.
 *   E2. A call whose secret values are masked in every form that is left is refused, never executed in masked form.
 *   E3. An approved call of another server's tool is executed by that tool only, with the schema that it had.
 */
import { needsConfirmation, type ActionEvent, type ConversationState, type Draft } from '@parley/protocol'
import { MASK } from '../../secrets/index.ts'
import type { StepContext } from '../agent.ts'
import { callResult, changedTool, maskedCall } from '../drafts.ts'
import { isHarmless, type ToolGateway } from '../gateway/tool-gateway.ts'

type Context = Pick<StepContext, 'state' | 'isOriginal'>

export class FirstExecution {
  readonly #gateway: Pick<ToolGateway, 'execute' | 'originOf'>
  readonly #context: Context
  /** Calls that have not begun, oldest first. */
  readonly #held: ActionEvent[] = []

  constructor(gateway: Pick<ToolGateway, 'execute' | 'originOf'>, context: Context) {
    this.#gateway = gateway
    this.#context = context
  }

  /** Returns the result of a call; nothing for one that a person is asked about. @throws the signal's reason when aborted */
  async run(event: ActionEvent, signal: AbortSignal): Promise<Draft[]> {
    const open = openAction(this.#context.state(), event)
    if (!this.#context.isOriginal(event.id) && JSON.stringify(event.action).includes(MASK)) return [maskedCall(event)]
    if (open?.consent === 'given' && open.origin !== this.#gateway.originOf(event.tool_name))
      return [changedTool(event)]
    const outcome = await this.#gateway.execute(event, this.#context.state(), signal, () => this.#mayBegin(event))
    return outcome.kind === 'held' ? [] : callResult(event, outcome)
  }

  /** The question about the calls that have not begun; empty when there are none, or when they may begin by now. */
  question(): Draft[] {
    const state = this.#context.state()
    const open = this.#held.filter((event) => openAction(state, event) !== undefined)
    const [first] = open
    if (first === undefined || !open.some((event) => isAsked(state, event))) return []
    const actions = open.map(({ id, security_risk: risk, tool_name }) => {
      const origin = this.#gateway.originOf(tool_name)
      return { action_id: id, risk, ...(origin === undefined ? {} : { origin }) }
    })
    const { llm_response_id } = first
    const policy = state.confirmation_policy
    return [{ kind: 'ConfirmationRequestedEvent', source: 'environment', llm_response_id, actions, policy }]
  }

  #mayBegin(event: ActionEvent): boolean {
    const state = this.#context.state()
    if (openAction(state, event)?.consent === 'given') return true
    // The calls of an answer wait together, so that none overtakes one that a person is asked about.
    if (this.#held.length === 0 && !isAsked(state, event)) return true
    this.#held.push(event)
    return false
  }
}

const openAction = ({ open_actions }: ConversationState, { id }: ActionEvent) =>
  open_actions.find((open) => open.id === id)

/** Returns whether a person has to decide about a call now. */
function isAsked(state: ConversationState, event: ActionEvent): boolean {
  const { confirmation_policy: policy } = state
  if (event.action === null || isHarmless(event.action)) return false
  // A person has written since: where questions are wanted at all, they decide anew.
  if (openAction(state, event)?.consent === 'needed' && policy.kind !== 'NeverConfirm') return true
  return needsConfirmation(policy, event.security_risk)
}
