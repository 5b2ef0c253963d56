/** Calls of models in shapes that public threads report, with values of our own. `$W` is the working directory. */

export type HabitCall = {
  /** The thread that reports the shape. */
  source: string
  name: string
  /** The arguments; a text is sent as it is. */
  args: object | string
  /** Tools of the agent; absent: terminal, file_editor and task_tracker. */
  hasPatch?: true
} & (
  | {
      tool: string
      /** Members of the action. */
      action?: object
      /** Text of `app.py` afterwards. */
      app?: string
      /** A new file, and its text. */
      created?: [string, string]
      /** Part of the result. */
      output?: string
    }
  /** Parts of the refusal: the right tool, the wrong member, the allowed form. */
  | { refused: [string, string, string] }
)

export const APP = 'def total(rows):\n    return sum(rows)\n\nprint(total([1, 2]))\n'
const EDITED = APP.replace('sum(rows)', 'sum(rows, 1)')
const issue = (thread: string, number: number): string => `https://github.com/${thread}/issues/${number}`
const pull = (thread: string, number: number): string => `https://github.com/${thread}/pull/${number}`
const PATH = '$W/app.py'
const [OLD, NEW] = ['    return sum(rows)', '    return sum(rows, 1)']
const patch = (...lines: string[]) => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n')
const update = (head = '@@') => patch('*** Update File: app.py', head, ` def total(rows):`, `-${OLD}`, `+${NEW}`)
const ok = { tool: 'terminal', output: 'fine' }
const echo = 'echo fine'
const shown = { tool: 'file_editor', output: '1\tdef total(rows):' }
const edited = { tool: 'file_editor', app: EDITED }
const patched = { tool: 'apply_patch', app: EDITED, hasPatch: true } as const
const planned = (title: string, status: string) => ({
  tool: 'task_tracker',
  action: { command: 'plan', task_list: [{ title, notes: '', status }] },
})

const SHELL: HabitCall[] = [
  { source: issue('anomalyco/opencode', 17415), name: 'bash', args: { command: echo, description: 'Says so' }, ...ok },
  {
    source: issue('QwenLM/qwen-code', 2012),
    name: 'bash',
    args: { command: 'find . -name "*.py" | head -20', description: 'Finds files' },
    tool: 'terminal',
    output: './app.py',
  },
  { source: issue('linuxarena/control-tower', 65), name: 'bash', args: { cmd: echo }, ...ok },
  {
    source: issue('anthropics/claude-code', 28408),
    name: 'Bash',
    args: { command: echo, timeout: 600000 },
    ...ok,
    action: { timeout: 600 },
  },
  {
    source: issue('anthropics/claude-code', 31518),
    name: 'TaskOutput',
    args: { task_id: 'b1', block: true, timeout: 30000 },
    tool: 'terminal',
    action: { command: '', is_input: false, timeout: 30 },
  },
  {
    source: issue('anthropics/claude-code', 31518),
    name: 'Bash',
    args: { command: echo, run_in_background: false },
    ...ok,
  },
  {
    source: issue('anthropics/claude-code', 88702),
    name: 'Bash',
    args: { command: 'sleep 9', run_in_background: true, timeout: 5000 },
    refused: ['terminal', 'run_in_background', '{command: string;'],
  },
  {
    source: issue('anomalyco/opencode', 13146),
    name: 'Bash',
    args: { command: 'ls -la' },
    tool: 'terminal',
    output: 'app.py',
  },
  {
    source: pull('openai/codex', 6510),
    name: 'shell_command',
    args: {
      command: 'pwd; echo fine',
      workdir: '$W',
      timeout_ms: 9000,
      with_escalated_permissions: false,
      justification: 'needed',
    },
    ...ok,
    action: { timeout: 9 },
  },
  {
    source: pull('openai/codex', 6510),
    name: 'container.exec',
    args: { command: ['bash', '-lc', 'echo fine | cat'] },
    ...ok,
  },
  {
    source: pull('fwdai/fletch', 66),
    name: 'shell',
    args: { command: ['echo', 'it is', 'fine'] },
    ...ok,
    action: { command: "echo 'it is' fine" },
  },
  {
    source: pull('openai/codex', 2500),
    name: 'functions.exec_command',
    args: { cmd: echo, yield_time_ms: 4000 },
    ...ok,
    action: { timeout: 4 },
  },
  { source: pull('letta-ai/letta-code', 2534), name: 'exec_command', args: { cmd: echo, tty: true }, ...ok },
  {
    source: issue('openai/codex', 18494),
    name: 'write_stdin',
    args: { session_id: 7, chars: '\u0003' },
    tool: 'terminal',
    action: { command: 'C-c', is_input: true },
  },
  {
    source: issue('OpenAgentsInc/openagents', 7623),
    name: 'write_stdin',
    args: { session_id: 7, chars: '' },
    tool: 'terminal',
    action: { command: '', is_input: false },
  },
  {
    source: issue('OpenAgentsInc/openagents', 7623),
    name: 'write_stdin',
    args: { session_id: 7, chars: 'yes\n', yield_time_ms: 500, max_output_tokens: 99 },
    tool: 'terminal',
    action: { command: 'yes', is_input: true, timeout: 0.5 },
  },
  {
    source: pull('OpenHands/software-agent-sdk', 3806),
    name: 'write_stdin',
    args: { session_id: 999, yield_time_ms: 500 },
    tool: 'terminal',
    action: { command: '', timeout: 0.5 },
  },
  { source: issue('google-gemini/gemini-cli', 7513), name: 'run_shell_command', args: { command: echo }, ...ok },
  {
    source: issue('gemini-cli-extensions/conductor', 39),
    name: 'default_api.run_shell_command',
    args: { command: 'echo fine; git status' },
    ...ok,
  },
  { source: issue('cursor/cursor', 3501), name: 'run_terminal_cmd', args: { command: echo }, ...ok },
  {
    source: issue('leookun/cursor-byok', 302),
    name: 'Shell',
    args: { block_until_ms: 0, command: echo },
    tool: 'terminal',
    action: { command: echo, timeout: 0 },
  },
  { source: pull('TabbyML/pochi', 65), name: 'executeCommand', args: { command: echo, isBackground: false }, ...ok },
  {
    source: issue('OpenHands/software-agent-sdk', 1059),
    name: 'execute_bash',
    args: { command: echo, parameter: 'x' },
    refused: ['terminal', 'parameter', '{command: string;'],
  },
  { source: issue('OpenHands/OpenHands', 14129), name: 'execute_bash', args: { command: echo }, ...ok },
  { source: issue('OpenHands/software-agent-sdk', 1653), name: 'terminal', args: { command: echo }, ...ok },
  { source: issue('TheR1D/shell_gpt', 677), name: 'execute_shell_command', args: { shell_command: echo }, ...ok },
  {
    source: pull('cline/cline', 8926),
    name: 'execute_command',
    args: { command: echo, requires_approval: false },
    ...ok,
  },
  {
    source: issue('netclaw-dev/netclaw', 1802),
    name: 'shell_execute',
    args: { command: 'echo fine | head -1' },
    ...ok,
  },
  {
    source: issue('scouzi1966/maclocal-api', 54),
    name: 'bash',
    args: {},
    refused: ['terminal', 'command', '{command: string;'],
  },
]

const FILES: HabitCall[] = [
  {
    source: issue('anthropics/claude-code', 30197),
    name: 'Read',
    args: { file_path: PATH, offset: '2' },
    tool: 'file_editor',
    action: { view_range: [2, -1] },
    output: '2\t    return',
  },
  {
    source: issue('anomalyco/opencode', 26870),
    name: 'read',
    args: { filePath: PATH, limit: 1, offset: '4' },
    tool: 'file_editor',
    action: { view_range: [4, 4] },
    output: '4\tprint',
  },
  { source: issue('anomalyco/opencode', 46807), name: 'read', args: { filePath: PATH, offset: -1 }, ...shown },
  { source: issue('MoonshotAI/kimi-code', 3381), name: 'Read', args: { path: PATH, line_offset: '1' }, ...shown },
  { source: issue('cortexkit/aft', 148), name: 'read', args: { filePath: PATH }, ...shown },
  { source: issue('openclaw/openclaw', 56694), name: 'read', args: { file: PATH }, ...shown },
  { source: issue('openclaw/openclaw', 16717), name: 'read', args: { path: PATH }, ...shown },
  { source: issue('oraios/serena', 114), name: 'read_file', args: { relative_path: PATH }, ...shown },
  { source: issue('google-gemini/gemini-cli', 4936), name: 'read_file', args: { absolute_path: PATH }, ...shown },
  { source: pull('iOfficeAI/gemini-cli-pro', 9), name: 'read_file', args: { file_path: PATH }, ...shown },
  {
    source: issue('rynfar/meridian', 552),
    name: 'read',
    args: { filePath: PATH, limit: 3 },
    ...shown,
    action: { view_range: [1, 3] },
  },
  { source: issue('7836246/cursor2api', 15), name: 'Read', args: { file_path: PATH }, ...shown },
  {
    source: issue('letta-ai/letta', 3174),
    name: 'write_file',
    args: { file_path: '$W/new.md' },
    refused: ['file_editor', 'file_text', 'is required for the command create'],
  },
  {
    source: pull('NousResearch/hermes-agent', 19119),
    name: 'write_file',
    args: { path: '$W/new.md', content: '' },
    tool: 'file_editor',
    created: ['new.md', ''],
  },
  {
    source: issue('iflow-ai/iflow-cli', 316),
    name: 'write_file',
    args: { file_path: '$W/new.md', content: '# New\n' },
    tool: 'file_editor',
    created: ['new.md', '# New\n'],
  },
  {
    source: pull('RooCodeInc/Roo-Code', 9667),
    name: 'write_to_file',
    args: { path: '$W/new.md', content: '# New\n', line_count: 1 },
    tool: 'file_editor',
    created: ['new.md', '# New\n'],
  },
  {
    source: issue('QwenLM/qwen-code', 1307),
    name: 'str_replace_editor',
    args: { file_path: PATH, old_string: OLD, new_string: NEW },
    ...edited,
  },
  {
    source: pull('QwenLM/qwen-code', 513),
    name: 'edit',
    args: { file_path: PATH, old_string: OLD, new_string: NEW },
    ...edited,
  },
  {
    source: issue('anomalyco/opencode', 908),
    name: 'edit',
    args: { filePath: PATH, oldString: OLD, newString: NEW, replaceAll: 'false' },
    ...edited,
  },
  {
    source: issue('agentscope-ai/agentscope-java', 1492),
    name: 'edit_file',
    args: { path: PATH, old_string: OLD, new_string: NEW, replace_all: false },
    ...edited,
  },
  {
    source: pull('google-gemini/gemini-cli', 20033),
    name: 'replace',
    args: { file_path: PATH, instruction: 'Start at 1', old_string: OLD, new_string: NEW, allow_multiple: false },
    ...edited,
  },
  {
    source: pull('google-gemini/gemini-cli', 19892),
    name: 'replace',
    args: { file_path: PATH, instruction: 'Start at 1', old_string: OLD, new_string: NEW, expected_replacements: 1 },
    ...edited,
  },
  {
    source: pull('google-gemini/gemini-cli', 20033),
    name: 'replace',
    args: { file_path: PATH, old_string: 'rows', new_string: 'list', allow_multiple: true },
    refused: ['file_editor', 'allow_multiple', 'old_str?: string'],
  },
  {
    source: issue('earendil-works/pi', 2786),
    name: 'edit',
    args: { path: PATH, oldText: OLD, newText: NEW },
    ...edited,
  },
  {
    source: issue('earendil-works/pi', 2786),
    name: 'edit',
    args: { path: PATH, edits: [{ oldText: OLD, newText: NEW }] },
    ...edited,
  },
  {
    source: pull('ollama/ollama', 17711),
    name: 'edit',
    args: { path: PATH, edits: JSON.stringify([{ old_text: OLD, new_text: NEW }]) },
    ...edited,
  },
  {
    source: pull('ollama/ollama', 17711),
    name: 'edit',
    args: {
      path: PATH,
      edits: [
        { old_text: 'a', new_text: 'b' },
        { old_text: 'c', new_text: 'd' },
      ],
    },
    refused: ['file_editor', 'edits', 'old_str?: string'],
  },
  {
    source: issue('earendil-works/pi', 4430),
    name: 'edit',
    args: { path: PATH, oldText: '\treturn sum(rows)  \n', newText: '\treturn sum(rows, 1)\n' },
    ...edited,
  },
  {
    source: pull('PrimeIntellect-ai/prime-agent', 115),
    name: 'edit',
    args: { path: PATH, old_str: OLD, new_str: NEW },
    ...edited,
  },
  {
    source: pull('anthropics/anthropic-sdk-python', 1709),
    name: 'edit',
    args: { path: '$W/new.md', old_string: '', new_string: '# New\n' },
    tool: 'file_editor',
    created: ['new.md', '# New\n'],
  },
  {
    source: issue('anthropics/claude-quickstarts', 348),
    name: 'str_replace_based_edit_tool',
    args: { command: 'insert', path: PATH, insert_line: 0, insert_text: '# first\n' },
    tool: 'file_editor',
    app: `# first\n${APP}`,
  },
  {
    source: pull('avante-corp/avante.nvim', 2079),
    name: 'str_replace_based_edit_tool',
    args: { command: 'view', path: PATH },
    ...shown,
  },
]

const PATCHES: HabitCall[] = [
  {
    source: issue('openai/codex', 2235),
    name: 'shell',
    args: { command: ['apply_patch', `<<'EOF'\n${update()}\nEOF\n`] },
    ...patched,
  },
  {
    source: issue('openai/codex', 2235),
    name: 'shell',
    args: { command: ['bash', '-lc', `cd repo && apply_patch <<'EOF'\n${update()}\nEOF\n`] },
    hasPatch: true,
    refused: ['apply_patch', 'command', 'the parameter patch'],
  },
  {
    source: issue('anomalyco/opencode', 43389),
    name: 'bash',
    args: { command: `apply_patch <<'PATCH-1'\n${update()}\nPATCH-1` },
    ...patched,
  },
  { source: pull('openai/codex', 3382), name: 'shell', args: { command: ['bash', '-lc', update()] }, ...patched },
  {
    source: pull('openai/codex', 2477),
    name: 'shell',
    args: { command: ['bash', '-lc', `applypatch <<'EOF'\n${update()}\nEOF`] },
    ...patched,
  },
  { source: issue('holon-run/holon', 3041), name: 'ApplyPatch', args: { patch: update('@@') }, ...patched },
  {
    source: pull('spikonado/sprocket', 151),
    name: 'apply_patch',
    args: { patch: update('@@ -1,2 +1,2 @@') },
    ...patched,
  },
  {
    source: pull('spikonado/sprocket', 151),
    name: 'apply_patch',
    args: { patch: `\`\`\`diff\n${update()}\n\`\`\`` },
    ...patched,
  },
  {
    source: pull('use-agent-os/agent-os', 2984),
    name: 'apply_patch',
    args: { patch: patch('*** Update File: app.py', '@@ -2 +2 @@', `-${OLD}`, `+${NEW}`) },
    ...patched,
  },
  { source: pull('digitallyinduced/haskell-agent', 707), name: 'apply-patch', args: { patch: update() }, ...patched },
]

const TASKS: HabitCall[] = [
  {
    source: issue('anthropics/claude-code', 30955),
    name: 'TodoWrite',
    args: { todos: [{ content: 'Test', status: 'in_progress' }] },
    ...planned('Test', 'in_progress'),
  },
  {
    source: issue('anomalyco/opencode', 10813),
    name: 'todowrite',
    args: { todos: '[{"content": "Test", "status": "pending"}]' },
    ...planned('Test', 'todo'),
  },
  {
    source: issue('Kilo-Org/kilocode', 10168),
    name: 'todowrite',
    args: { todos: [{ content: 'Test', priority: 'low', status: 'completed' }] },
    ...planned('Test', 'done'),
  },
  { source: pull('vinhnx/VTCode', 174), name: 'update_plan', args: { plan: ['Test'] }, ...planned('Test', 'todo') },
  {
    source: pull('digitallyinduced/haskell-agent', 709),
    name: 'update_plan',
    args: { plan: [{ step: 'Test', status: 'pending' }], explanation: 'First steps' },
    ...planned('Test', 'todo'),
  },
  {
    source: pull('openclaw/openclaw', 67840),
    name: 'update_plan',
    args: { plan: [{ step: 'Test', status: 'cancelled' }] },
    ...planned('Test', 'done'),
  },
  {
    source: issue('Miso2233/SonettoHere', 319),
    name: 'task_tracker',
    args: { command: 'plan', todos: '[{"content": "Test", "status": "pending"}]' },
    ...planned('Test', 'todo'),
  },
  {
    source: issue('1jehuang/jcode', 357),
    name: 'todo',
    args: { todos: '[{"content": "Test", "status": "completed"}]' },
    ...planned('Test', 'done'),
  },
  {
    source: pull('vybestack/llxprt-code', 3657),
    name: 'todo_write',
    args: {},
    tool: 'task_tracker',
    action: { command: 'view' },
  },
  {
    source: issue('cline/cline', 7226),
    name: 'attempt_completion',
    args: { result: 'It works.' },
    tool: 'finish',
    action: { message: 'It works.' },
  },
  {
    source: issue('RooCodeInc/Roo-Code', 4351),
    name: 'attempt_completion',
    args: { result: 'It works.', command: 'open index.html' },
    tool: 'finish',
    action: { message: 'It works.' },
  },
]

const SEARCHES: HabitCall[] = [
  {
    source: issue('zed-industries/zed', 41189),
    name: 'grep',
    args: { regex: 'sum.rows', include_pattern: '*.py' },
    tool: 'terminal',
    output: 'app.py:2:',
  },
  {
    source: pull('zed-industries/zed', 29100),
    name: 'regex_search',
    args: { regex: 'sum.rows' },
    tool: 'terminal',
    output: 'app.py:2:',
  },
  {
    source: issue('CommandCodeAI/command-code', 655),
    name: 'grep',
    args: { path: '$W', glob: '*.py', pattern: 'nothing|sum', type: '' },
    tool: 'terminal',
    output: 'app.py:2:',
  },
  {
    source: pull('NousResearch/hermes-agent', 108279),
    name: 'search_files',
    args: { pattern: 'sum', target: 'content' },
    tool: 'terminal',
    output: 'app.py:2:',
  },
  {
    source: pull('langchain-ai/deepagents', 216),
    name: 'ls',
    args: { path: '$W' },
    tool: 'terminal',
    output: 'app.py',
  },
  {
    source: issue('QwenLM/qwen-code', 1307),
    name: 'list_directory',
    args: { path: '$W' },
    tool: 'terminal',
    output: 'app.py',
  },
]

export const HABIT_CALLS: readonly HabitCall[] = [...SHELL, ...FILES, ...PATCHES, ...TASKS, ...SEARCHES]
