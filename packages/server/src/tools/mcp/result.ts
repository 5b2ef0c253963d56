/** Converts the result of an MCP call to an observation. Source: agent-core.md 8.12. */
import { textContent, type ImageContent, type Observation, type TextContent } from '@parley/protocol'
import { shownImages } from '../shown-images.ts'
import type { CallToolResult } from './connection.ts'

/** Characters of base64 that are stored. */
const MAX_IMAGE_CHARS = 7 * 1024 * 1024

type Part = CallToolResult['content'][number]

/** Texts and images as received, after a line with the tool's name; a line replaces any other content. */
export async function observationOf(
  toolName: string,
  { content, structuredContent, isError }: CallToolResult,
): Promise<Observation> {
  const parts = await shownImages(content.map(shown))
  if (parts.length === 0 && structuredContent !== undefined) parts.push(textContent(JSON.stringify(structuredContent)))
  return {
    kind: 'MCPToolObservation',
    content: [textContent(`[Tool '${toolName}' executed.]`), ...parts],
    is_error: isError === true,
    tool_name: toolName,
  }
}

/** Observation of a call that failed. */
export function failedCall(toolName: string, reason: string): Observation {
  return { kind: 'MCPToolObservation', content: [textContent(reason)], is_error: true, tool_name: toolName }
}

function shown(part: Part): TextContent | ImageContent {
  switch (part.type) {
    case 'text':
      return textContent(part.text)
    case 'image': {
      const { data } = part
      if (data.length > MAX_IMAGE_CHARS)
        return textContent(
          `[An image of ${data.length} characters was left out; at most ${MAX_IMAGE_CHARS} are taken. Ask the tool for a smaller one.]`,
        )
      // The content decides the type.
      return { type: 'image', image_urls: [`data:;base64,${data}`], cache_prompt: false }
    }
    case 'resource':
      return 'text' in part.resource && typeof part.resource.text === 'string'
        ? textContent(part.resource.text)
        : textContent(`[The resource ${plain(part.resource.uri)} was left out: it is no text.]`)
    case 'resource_link':
      return textContent(`[Resource ${plain(part.name)}: ${plain(part.uri)}]`)
    default:
      return textContent(`[A part of type ${plain(part.type)} was left out.]`)
  }
}

const plain = (text: string) => text.replaceAll(/\s+/g, ' ').slice(0, 500)
