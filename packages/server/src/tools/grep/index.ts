export { grepTool } from './grep-tool.ts'
