/** Parts of the guard's tests: calls to be judged, and analyzers to judge them. */
import {
  asEventId,
  textContent,
  type Action,
  type SecurityAnalyzer,
  type SecurityRisk,
} from '../../packages/protocol/src/index.ts'
import {
  NO_VENDOR_ACCESS,
  openAnalyzer,
  type AnalysisContext,
  type AnalyzedCall,
  type AnalyzerDeps,
} from '../../packages/server/src/security/index.ts'

export const WORKSPACE = '/home/me/project'
export const NOTHING: AnalysisContext = { history: [], earlier: [], working_dir: WORKSPACE }
export const never = new AbortController().signal

const noModel: AnalyzerDeps['openLlm'] = () => {
  throw new Error('this test has no model')
}
export const deps: AnalyzerDeps = { openLlm: noModel, vendor: NO_VENDOR_ACCESS }

/** A call of the terminal, unless `change` makes it another. */
export function callOf(command: string, change: Partial<AnalyzedCall> = {}): AnalyzedCall {
  return {
    action_id: asEventId('a1'),
    tool_name: 'terminal',
    action: { kind: 'TerminalAction', command, is_input: false, timeout: null, reset: false },
    tool_call: { id: 'call_1', name: 'terminal', arguments: JSON.stringify({ command }) },
    predicted_risk: 'UNKNOWN',
    summary: null,
    thought: '',
    reasoning: null,
    is_read_only: false,
    ...change,
  }
}

/** A call of some tool with these arguments. */
export function callWith(args: unknown, change: Partial<AnalyzedCall> = {}): AnalyzedCall {
  const action: Action = { kind: 'MCPToolAction', data: {} }
  const tool_call = { id: 'call_1', name: 'some_tool', arguments: JSON.stringify(args) }
  return callOf('', { tool_name: 'some_tool', action, tool_call, ...change })
}

export async function riskOf(
  record: SecurityAnalyzer,
  call: AnalyzedCall | string,
  context: Partial<AnalysisContext> = {},
): Promise<SecurityRisk> {
  const asked = typeof call === 'string' ? callOf(call) : call
  const { risk } = await openAnalyzer(record, deps).assess(asked, { ...NOTHING, ...context }, never)
  return risk
}

export const PATTERN: SecurityAnalyzer = { kind: 'PatternSecurityAnalyzer' }
export const RAILS: SecurityAnalyzer = { kind: 'PolicyRailSecurityAnalyzer' }
export { textContent }
