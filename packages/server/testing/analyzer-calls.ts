/** Calls and analyzers for the guard's tests. */
import { testFetch } from './requests.ts'
import {
  asEventId,
  textContent,
  type Action,
  type SecurityAnalyzer,
  type SecurityRisk,
} from '../../protocol/src/index.ts'
import {
  NO_VENDOR_ACCESS,
  openAnalyzer,
  type AnalysisContext,
  type AnalyzedCall,
  type AnalyzerDeps,
} from '../src/security/index.ts'

export const WORKSPACE = '/home/me/project'
export const NOTHING: AnalysisContext = { history: [], earlier: [], working_dir: WORKSPACE }
export const never = new AbortController().signal

const noModel: AnalyzerDeps['openLlm'] = () => {
  throw new Error('this test has no model')
}
export const deps: AnalyzerDeps = { openLlm: noModel, vendor: NO_VENDOR_ACCESS, fetchVendor: testFetch }

/** A call of the terminal with the members of `change`. */
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

/** A call of an MCP tool with these arguments. */
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
  const analyzed = typeof call === 'string' ? callOf(call) : call
  const { risk } = await openAnalyzer(record, deps).assess(analyzed, { ...NOTHING, ...context }, never)
  return risk
}

export const PATTERN: SecurityAnalyzer = { kind: 'PatternSecurityAnalyzer' }
export const RAILS: SecurityAnalyzer = { kind: 'PolicyRailSecurityAnalyzer' }
export { textContent }
