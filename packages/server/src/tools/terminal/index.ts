export { terminalTool } from './terminal-tool.ts'
