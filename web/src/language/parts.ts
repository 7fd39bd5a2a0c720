// What a language has: the words of the page, of what is around conversations, and of what looks into a reply.
import type { AroundWords } from './around/en';
import type { Words } from './en';
import type { InspectingWords } from './inspecting/en';

export interface Language {
  words: Words;
  around: AroundWords;
  inspecting: InspectingWords;
}
