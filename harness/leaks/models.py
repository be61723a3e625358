"""Small models of the families that the reports train, written so that a seed fixes everything."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional


class RMSNorm(nn.Module):
    """Root mean square normalisation with a learnt scale."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale


def rotate(x: torch.Tensor) -> torch.Tensor:
    """Rotary position embedding over the last dimension; x is (batch, heads, length, width)."""
    length, width = x.shape[-2:]
    half = width // 2
    frequency = torch.exp(torch.arange(half, device=x.device) * (-math.log(10_000.0) / half))
    angle = torch.arange(length, device=x.device)[:, None] * frequency
    first, second = x[..., :half], x[..., half:]
    return torch.cat(
        [
            first * angle.cos() - second * angle.sin(),
            first * angle.sin() + second * angle.cos(),
        ],
        dim=-1,
    )


class LlamaBlock(nn.Module):
    """Causal attention with rotary positions, then a gated feed-forward layer."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm = RMSNorm(width)
        self.query, self.key, self.value, self.out = (
            nn.Linear(width, width, bias=False) for _ in range(4)
        )
        self.feed_forward_norm = RMSNorm(width)
        self.gate = nn.Linear(width, 3 * width, bias=False)
        self.up = nn.Linear(width, 3 * width, bias=False)
        self.down = nn.Linear(3 * width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normal = self.attention_norm(x)
        query, key, value = (
            layer(normal).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        attended = functional.scaled_dot_product_attention(
            rotate(query), rotate(key), value, is_causal=True
        )
        x = x + self.out(attended.transpose(1, 2).flatten(-2))
        normal = self.feed_forward_norm(x)
        return x + self.down(functional.silu(self.gate(normal)) * self.up(normal))


class Llama(nn.Module):
    """A decoder of the Llama family."""

    def __init__(self, vocabulary: int, width: int, layers: int, heads: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.blocks = nn.Sequential(*(LlamaBlock(width, heads) for _ in range(layers)))
        self.norm = RMSNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.blocks(self.embedding(tokens))))


class Seq2Seq(nn.Module):
    """An encoder and a decoder over one vocabulary, as T5 has."""

    def __init__(self, vocabulary: int, width: int, layers: int, heads: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.transformer = nn.Transformer(
            width, heads, layers, layers, 4 * width, dropout=0.1, batch_first=True
        )
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1], device=target.device)
        hidden = self.transformer(
            self.embedding(source), self.embedding(target), tgt_mask=mask, tgt_is_causal=True
        )
        return self.head(hidden)


class ConvNet(nn.Module):
    """A small image classifier; 3.3 million parameters with 128 channels."""

    def __init__(self, channels: int, classes: int = 10) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, channels, 3, padding=1),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(channels, 2 * channels, 3, padding=1),
            nn.BatchNorm2d(2 * channels),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(2 * channels, 4 * channels, 3, padding=1),
            nn.BatchNorm2d(4 * channels),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
        )
        self.head = nn.Sequential(
            nn.Flatten(),
            nn.Linear(16 * channels, 8 * channels),
            nn.ReLU(),
            nn.Linear(8 * channels, classes),
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(images))
